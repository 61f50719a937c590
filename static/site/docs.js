"use strict";
// The page of the OpenAPI document. A credential that is entered stays in this page.
const place = document.getElementById("docs");
SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,
});
