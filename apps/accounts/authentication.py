"""Signing API requests with `Authorization: Token KEY`."""

from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.models import ApiKey, User

NOTED_EVERY = timedelta(minutes=1)


class ApiKeyAuthentication(BaseAuthentication):
    """One indexed query by the key's hash; a revoked key, or a deactivated person's, is refused."""

    keyword = "Token"

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        words = get_authorization_header(request).decode("latin-1").split()
        if not words or words[0].lower() != self.keyword.lower():
            return None
        if len(words) != 2:
            raise AuthenticationFailed(_("The Authorization header must read: Token KEY."))
        key = ApiKey.objects.select_related("user").filter(digest=ApiKey.digest_of(words[1])).first()
        if key is None or not key.is_usable:
            raise AuthenticationFailed(_("This key is not valid."))
        self._note_use(key)
        return key.user, key

    def _note_use(self, key: ApiKey) -> None:
        # To the minute is enough for a person to see; a write for every request would make readers queue.
        now = timezone.now()
        if key.last_used_at is None or now - key.last_used_at >= NOTED_EVERY:
            ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)

    def authenticate_header(self, request: Request) -> str:
        return self.keyword


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Tells the OpenAPI page how a request is signed."""

    target_class = ApiKeyAuthentication
    name = "ApiKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "apiKey", "in": "header", "name": "Authorization", "description": "Token KEY"}
