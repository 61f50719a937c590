"""Routes of people and places."""

from __future__ import annotations

from django.urls import path

from bencher.projects.views import auth, members, organizations, projects, users

urlpatterns = [
    path("v0/auth/signup", auth.Signup.as_view()),
    path("v0/auth/login", auth.Login.as_view()),
    path("v0/auth/confirm", auth.Confirm.as_view()),
    path("v0/auth/accept", auth.Accept.as_view()),
    path("v0/users", users.Users.as_view()),
    path("v0/users/<str:user>", users.OneUser.as_view()),
    path("v0/users/<str:user>/keys", users.Keys.as_view()),
    path("v0/users/<str:user>/keys/<str:key>", users.OneKey.as_view()),
    path("v0/users/<str:user>/tokens", users.Tokens.as_view()),
    path("v0/users/<str:user>/tokens/<str:token>", users.OneToken.as_view()),
    path("v0/organizations", organizations.Organizations.as_view()),
    path("v0/organizations/<str:organization>", organizations.OneOrganization.as_view()),
    path("v0/organizations/<str:organization>/allowed/<str:permission>", organizations.Allowed.as_view()),
    path("v0/organizations/<str:organization>/claim", organizations.Claim.as_view()),
    path("v0/organizations/<str:organization>/members", members.Members.as_view()),
    path("v0/organizations/<str:organization>/members/<str:user>", members.OneMember.as_view()),
    path("v0/organizations/<str:organization>/projects", organizations.Projects.as_view()),
    path("v0/organizations/<str:organization>/usage", organizations.Usage.as_view()),
    path("v0/projects", projects.Projects.as_view()),
    path("v0/projects/<str:project>", projects.OneProject.as_view()),
    path("v0/projects/<str:project>/allowed/<str:permission>", projects.Allowed.as_view()),
    path("v0/projects/<str:project>/keys", projects.Keys.as_view()),
    path("v0/projects/<str:project>/keys/<str:key>", projects.OneKey.as_view()),
]
