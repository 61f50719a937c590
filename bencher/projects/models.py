"""People and places: users, organizations, projects, and the keys that speak for them (rest.md sections 1 and 5.1)."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.core.management import CommandError
from django.db import models
from django.db.models import Q

from bencher.core.ids import uuid7

UNCLAIMED_PRIORITY, DEFAULT_PRIORITY = 0, 100


class UserManager(BaseUserManager["User"]):
    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email=(username or "").lower())

    def create_superuser(self, **_: Any) -> User:
        """What ``createsuperuser`` calls: an administrator needs an organization and a key, too."""
        raise CommandError("use manage.py create_admin --email …, and changepassword for a password")


class User(AbstractBaseUser):
    """A person. The first one ever created is the server's administrator (rest.md 1.5)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=64)
    slug = models.CharField(max_length=64, unique=True)
    email = models.EmailField(max_length=254, unique=True)
    admin = models.BooleanField(default=False)
    locked = models.BooleanField(default=False)
    created = models.DateTimeField()
    modified = models.DateTimeField()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]
    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name

    @property
    def is_active(self) -> bool:  # type: ignore[override]
        return not self.locked

    @property
    def is_staff(self) -> bool:
        return self.admin and not self.locked

    @property
    def is_superuser(self) -> bool:
        return self.is_staff

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        return self.is_staff

    def has_perms(self, perm_list: Any, obj: Any = None) -> bool:
        return self.is_staff

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_staff


class Organization(models.Model):
    """A group of people with projects. Without members it is unclaimed: anybody may run in it, and the first user to do so claims it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=64)
    slug = models.CharField(max_length=64, unique=True)
    license = models.TextField(null=True, blank=True)
    priority = models.PositiveIntegerField(default=UNCLAIMED_PRIORITY)
    """Of its jobs, 0..1000 (protocol.md section 8): 0 while unclaimed."""
    claimed = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField()
    modified = models.DateTimeField()
    deleted = models.DateTimeField(null=True, blank=True)
    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(User, through="Membership", related_name="organizations")

    class Meta:
        ordering = ("name", "id")
        constraints = [models.CheckConstraint(condition=Q(priority__lte=1000), name="organization_priority_0_1000")]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user's role in an organization. ``leader`` may do everything there."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, default="leader")
    created = models.DateTimeField()
    modified = models.DateTimeField()

    class Meta:
        ordering = ("created", "id")
        constraints = [models.UniqueConstraint(fields=["organization", "user"], name="one_membership_each")]

    def __str__(self) -> str:
        return f"{self.role}: user {self.user_id} in organization {self.organization_id}"


class Project(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="projects")
    name = models.CharField(max_length=64)
    slug = models.CharField(max_length=64, unique=True)
    url = models.TextField(null=True, blank=True)
    visibility = models.CharField(max_length=8, default="public", choices=[("public", "public"), ("private", "private")])
    created = models.DateTimeField()
    modified = models.DateTimeField()
    deleted = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("name", "id")
        constraints = [models.UniqueConstraint(fields=["organization", "name"], name="project_name_in_organization")]

    def __str__(self) -> str:
        return self.name


class ProjectRole(models.Model):
    """A user's role in a project; ``maintainer`` may do everything there."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="roles")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="project_roles")
    role = models.CharField(max_length=16, default="maintainer")
    created = models.DateTimeField()
    modified = models.DateTimeField()

    class Meta:
        ordering = ("created", "id")
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_project_role_each")]

    def __str__(self) -> str:
        return f"{self.role}: user {self.user_id} in project {self.project_id}"


class Credential(models.Model):
    """What all keys share. Only the hash of a key is stored (rest.md 1.1)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)
    creation = models.DateTimeField()
    expiration = models.DateTimeField()
    revoked = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name


class UserKey(Credential):
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="keys")


class ProjectKey(Credential):
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="keys")
    creator = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")


class ApiToken(Credential):
    """A legacy API token (a JWT); none are made any more, existing ones can be revoked."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    token = models.TextField()


class Invitation(models.Model):
    """An invite that was mailed; accepted once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField(max_length=254)
    role = models.CharField(max_length=16, default="leader")
    created = models.DateTimeField()
    accepted = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created", "id")

    def __str__(self) -> str:
        return f"{self.email} as {self.role}"
