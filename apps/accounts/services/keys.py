"""API keys: made, shown once, revoked."""

from django.db import transaction

from apps.accounts.models import API_KEY_PREFIX_LENGTH, ApiKey, User
from apps.common.models import AuditEntry


@transaction.atomic
def create_key(*, user: User, name: str) -> tuple[ApiKey, str]:
    """The stored row and the key itself, which nobody can see again."""
    secret = ApiKey.new_key()
    key = ApiKey.objects.create(
        user=user, name=name, prefix=secret[:API_KEY_PREFIX_LENGTH], digest=ApiKey.digest_of(secret)
    )
    AuditEntry.objects.create(actor=user, action="key.create", subject=user.email, details=_described(key))
    return key, secret


@transaction.atomic
def revoke_key(*, key: ApiKey, actor: User) -> None:
    """The key stops working at once. Revoking it again changes nothing."""
    if key.revoked_at is not None:
        return
    key.revoke()
    AuditEntry.objects.create(actor=actor, action="key.revoke", subject=key.user.email, details=_described(key))


def _described(key: ApiKey) -> dict[str, str]:
    return {"name": key.name, "prefix": key.prefix}
