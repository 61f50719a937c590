"""OpenAPI from the msgspec structs that validate requests and answer them (drf-spectacular)."""

from __future__ import annotations

from typing import Any

import msgspec
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent


class StructExtension(OpenApiSerializerExtension):
    """A msgspec struct used as ``request`` or ``responses`` of ``extend_schema``."""

    target_class = "msgspec.Struct"
    match_subclasses = True

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        (schema,), components = msgspec.json.schema_components((self.target,), ref_template="#/components/schemas/{name}")
        for name, part in components.items():
            if name == self.target.__name__:
                schema = part
                continue
            component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, object=name, schema=part)
            auto_schema.registry.register_on_missing(component)
        return dict(schema)


class EndpointSchema(AutoSchema):
    """Views answer structs: nothing is guessed from serializer classes."""

    def get_operation_id(self) -> str:
        return super().get_operation_id().replace("v0_", "", 1)
