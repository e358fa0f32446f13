"""API keys: made, shown once, listed, revoked."""

import re

import pytest
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import ApiKey, User
from apps.accounts.services.keys import create_key
from apps.common.models import AuditEntry

KEYS = "/accounts/keys/"


def revoke(key: ApiKey) -> str:
    return f"/accounts/keys/{key.pk}/revoke/"


class TestMake:
    def test_the_key_is_shown_once_and_only_its_hash_is_kept(self, sign_in, rosa):
        client = sign_in(rosa)
        made = client.post(KEYS, {"name": "notebook"})
        assert made.status_code == 201
        assert "no-store" in made["Cache-Control"]
        found = re.search(r'id="new-key">([^<]+)<', made.text)
        assert found is not None
        secret = found.group(1)
        key = rosa.api_keys.get()
        assert key.digest == ApiKey.digest_of(secret)
        assert key.prefix == secret[:8]
        assert secret not in client.get(KEYS).text

    def test_it_is_an_audit_entry_without_the_key(self, rosa):
        _, secret = create_key(user=rosa, name="notebook")
        entry = AuditEntry.objects.get(action="key.create")
        assert (entry.actor, entry.subject) == (rosa, rosa.email)
        assert secret not in str(entry.details)

    def test_a_key_needs_a_name(self, sign_in, rosa):
        response = sign_in(rosa).post(KEYS, {"name": " "})
        assert response.status_code == 422
        assert "This field is required" in response.text
        assert not rosa.api_keys.exists()

    def test_nobody_signed_in_is_sent_to_sign_in(self, client, db):
        assert client.post(KEYS, {"name": "x"})["Location"].startswith("/accounts/sign-in/")
        assert not ApiKey.objects.exists()


class TestList:
    def test_nobody_sees_another_persons_keys(self, sign_in, rosa, otto):
        create_key(user=otto, name="ottos notebook")
        page = sign_in(rosa).get(KEYS)
        assert "ottos notebook" not in page.text
        assert "You have no keys yet" in page.text

    def test_a_script_in_the_name_is_shown_as_text(self, sign_in, rosa):
        """CASES 35."""
        create_key(user=rosa, name="<script>alert(1)</script>")
        assert "<script>alert(1)" not in sign_in(rosa).get(KEYS).text

    def test_it_comes_in_pages(self, sign_in, rosa):
        for number in range(26):
            create_key(user=rosa, name=f"key number {number}")
        client = sign_in(rosa)
        assert client.get(KEYS).text.count("key number") == 25 * 2  # the row, and its act
        last = client.get(KEYS, {"page": 2})
        assert last.text.count("key number") == 2
        assert "26 to 26 of 26" in last.text

    @pytest.mark.parametrize("page", ["0", "99", "x", ""])
    def test_a_page_that_does_not_exist_is_the_nearest_one(self, sign_in, rosa, page):
        assert sign_in(rosa).get(KEYS, {"page": page}).status_code == 200

    def test_more_keys_cost_no_more_queries(self, sign_in, rosa, django_assert_num_queries: DjangoAssertNumQueries):
        client = sign_in(rosa)
        for number in range(1, 20):
            create_key(user=rosa, name=f"key {number}")
            if number in (1, 19):
                with django_assert_num_queries(4):  # session, person, count, keys
                    client.get(KEYS)


class TestRevoke:
    def test_it_stops_the_key_and_is_an_audit_entry(self, sign_in, rosa):
        key, _ = create_key(user=rosa, name="notebook")
        response = sign_in(rosa).post(revoke(key), follow=True)
        assert "The key notebook is revoked." in response.text
        key.refresh_from_db()
        assert not key.is_usable
        assert AuditEntry.objects.get(action="key.revoke").actor == rosa

    def test_twice_is_as_good_as_once(self, sign_in, rosa):
        key, _ = create_key(user=rosa, name="notebook")
        client = sign_in(rosa)
        client.post(revoke(key))
        key.refresh_from_db()
        first = key.revoked_at
        client.post(revoke(key))
        key.refresh_from_db()
        assert key.revoked_at == first
        assert AuditEntry.objects.filter(action="key.revoke").count() == 1

    @pytest.mark.parametrize("who", ["otto", "ada"])
    def test_another_persons_key_is_404(self, sign_in, rosa, who, request):
        key, _ = create_key(user=rosa, name="notebook")
        other: User = request.getfixturevalue(who)
        assert sign_in(other).post(revoke(key)).status_code == 404
        key.refresh_from_db()
        assert key.is_usable

    def test_a_link_cannot_do_it(self, sign_in, rosa):
        key, _ = create_key(user=rosa, name="notebook")
        assert sign_in(rosa).get(revoke(key)).status_code == 405
        key.refresh_from_db()
        assert key.is_usable
