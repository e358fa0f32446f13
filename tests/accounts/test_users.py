"""The people of the site, as admins see and change them."""

import pytest
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import Role, User
from apps.common.models import AuditEntry
from tests.conftest import make_user

USERS = "/accounts/users/"
ACTS = ["role", "deactivate", "reactivate"]


def act(user: User, name: str) -> str:
    return f"{USERS}{user.pk}/{name}/"


class TestList:
    def test_an_admin_sees_everybody(self, sign_in, ada, rosa, emil):
        page = sign_in(ada).get(USERS)
        assert all(email in page.text for email in ["ada@example.org", "rosa@example.org", "emil@example.org"])
        assert "<html" in page.text

    @pytest.mark.parametrize(("search", "found"), [("ROSA", True), ("example.org", True), ("otto", False)])
    def test_search_is_by_name_or_address(self, sign_in, ada, rosa, search, found):
        assert ("rosa@example.org" in sign_in(ada).get(USERS, {"q": search}).text) is found

    def test_nobody_found_says_what_to_do(self, sign_in, ada):
        text = sign_in(ada).get(USERS, {"q": "zzz"}).text
        assert "Nobody with this name or address." in text
        assert text.count('href="/accounts/users/new/"') == 2

    def test_htmx_gets_the_list_alone(self, sign_in, ada, rosa):
        response = sign_in(ada).get(USERS, {"q": "rosa"}, headers={"hx-request": "true"})
        assert "<html" not in response.text
        assert response.text.strip().startswith('<div id="user-list">')
        assert "HX-Request" in response["Vary"]

    @pytest.mark.parametrize("header", ["hx-boosted", "hx-history-restore-request"])
    def test_a_boosted_link_and_restored_history_get_the_page(self, sign_in, ada, header):
        response = sign_in(ada).get(USERS, headers={"hx-request": "true", header: "true"})
        assert "<html" in response.text

    def test_it_comes_in_pages_that_keep_the_search(self, sign_in, ada):
        User.objects.bulk_create(User(email=f"crowd{number:03d}@example.org") for number in range(60))
        client = sign_in(ada)
        first = client.get(USERS, {"q": "crowd"})
        assert "1 to 50 of 60" in first.text
        assert "?q=crowd&amp;page=2" in first.text
        assert "crowd059@example.org" in client.get(USERS, {"q": "crowd", "page": 2}).text

    def test_more_people_cost_no_more_queries(
        self, sign_in, ada, rosa, django_assert_num_queries: DjangoAssertNumQueries
    ):
        client = sign_in(ada)
        with django_assert_num_queries(4):  # session, person, count, people
            client.get(USERS)
        User.objects.bulk_create(User(email=f"crowd{number:03d}@example.org") for number in range(40))
        with django_assert_num_queries(4):
            client.get(USERS)

    def test_a_script_in_a_name_is_shown_as_text(self, sign_in, ada):
        """CASES 35."""
        make_user("x@example.org", Role.ANNOTATOR, "<script>alert(1)</script>")
        client = sign_in(ada)
        assert "<script>alert(1)" not in client.get(USERS).text
        assert "<script>alert(1)" not in client.get(USERS, {"q": "<script>alert(1)</script>"}).text


class TestAccess:
    @pytest.mark.parametrize("who", ["rosa", "emil"])
    def test_others_than_admins_are_refused_everything(self, sign_in, ada, who, request):
        person: User = request.getfixturevalue(who)
        client = sign_in(person)
        assert client.get(USERS).status_code == 403
        assert client.get(f"{USERS}{ada.pk}/").status_code == 403
        for name in ACTS:
            fields = {"role": "annotator", "confirm": ada.email}
            assert client.post(act(ada, name), fields).status_code == 403
        ada.refresh_from_db()
        assert ada.is_admin
        assert not AuditEntry.objects.exists()

    def test_an_htmx_request_passes_the_same_check(self, sign_in, emil):
        assert sign_in(emil).get(USERS, headers={"hx-request": "true"}).status_code == 403

    def test_nobody_signed_in_is_sent_to_sign_in(self, client, ada):
        for url in [USERS, f"{USERS}{ada.pk}/"]:
            assert client.get(url)["Location"].startswith("/accounts/sign-in/")

    def test_an_unknown_person_is_404(self, sign_in, ada):
        client = sign_in(ada)
        assert client.get(f"{USERS}999999/").status_code == 404
        for name in ACTS:
            assert client.post(f"{USERS}999999/{name}/").status_code == 404

    @pytest.mark.parametrize("name", ACTS)
    def test_a_link_changes_nothing(self, sign_in, ada, rosa, name):
        assert sign_in(ada).get(act(rosa, name)).status_code == 405


class TestRole:
    def test_it_is_saved_with_an_audit_entry(self, sign_in, ada, emil):
        response = sign_in(ada).post(act(emil, "role"), {"role": "researcher"}, follow=True)
        assert "The role of Emil is saved." in response.text
        emil.refresh_from_db()
        assert emil.role == Role.RESEARCHER
        entry = AuditEntry.objects.get()
        assert (entry.actor, entry.action, entry.subject) == (ada, "user.role", emil.email)
        assert entry.details == {"before": "annotator", "after": "researcher"}

    def test_an_address_as_long_as_may_be_is_noted_whole(self, sign_in, ada):
        person = make_user(f"{'a' * 64}@{'b.' * 89}example", Role.ANNOTATOR)
        assert len(person.email) > 200
        sign_in(ada).post(act(person, "role"), {"role": "researcher"})
        assert AuditEntry.objects.get().subject == person.email

    def test_an_unknown_role_is_refused(self, sign_in, ada, emil):
        assert sign_in(ada).post(act(emil, "role"), {"role": "boss"}).status_code == 422
        emil.refresh_from_db()
        assert emil.role == Role.ANNOTATOR

    def test_the_last_admin_stays_one(self, sign_in, ada):
        make_user("gone@example.org", Role.ADMIN).__class__.objects.filter(email="gone@example.org").update(
            is_active=False
        )
        response = sign_in(ada).post(act(ada, "role"), {"role": "annotator"})
        assert response.status_code == 422
        assert "last active admin" in response.text
        ada.refresh_from_db()
        assert ada.is_admin

    def test_an_admin_may_step_down_when_there_is_another(self, sign_in, ada):
        make_user("second@example.org", Role.ADMIN)
        response = sign_in(ada).post(act(ada, "role"), {"role": "researcher"})
        assert response["Location"] == "/"
        ada.refresh_from_db()
        assert ada.role == Role.RESEARCHER


class TestDeactivate:
    def test_the_address_must_be_typed(self, sign_in, ada, rosa):
        response = sign_in(ada).post(act(rosa, "deactivate"), {"confirm": "otto@example.org"})
        assert response.status_code == 422
        assert "This is not the address of this person: rosa@example.org." in response.text
        rosa.refresh_from_db()
        assert rosa.is_active

    def test_sessions_end_and_stay_ended(self, sign_in, ada, rosa):
        hers, admin = sign_in(rosa), sign_in(ada)
        assert hers.get("/accounts/profile/").status_code == 200
        admin.post(act(rosa, "deactivate"), {"confirm": "Rosa@example.org"})
        rosa.refresh_from_db()
        assert not rosa.is_active
        assert rosa.deactivated_at is not None
        assert hers.get("/accounts/profile/").status_code == 302
        admin.post(act(rosa, "reactivate"))
        rosa.refresh_from_db()
        assert rosa.is_active
        assert hers.get("/accounts/profile/").status_code == 302
        assert admin.get(USERS).status_code == 200

    def test_both_are_audit_entries(self, sign_in, ada, rosa):
        sign_in(rosa)
        client = sign_in(ada)
        client.post(act(rosa, "deactivate"), {"confirm": rosa.email})
        client.post(act(rosa, "reactivate"))
        entries = AuditEntry.objects.order_by("pk").values_list("actor__email", "action", "subject", "details")
        assert list(entries) == [
            (ada.email, "user.deactivate", rosa.email, {"sessions_ended": 1}),
            (ada.email, "user.reactivate", rosa.email, {}),
        ]

    def test_the_last_admin_cannot_go(self, sign_in, ada):
        response = sign_in(ada).post(act(ada, "deactivate"), {"confirm": ada.email})
        assert response.status_code == 422
        assert "last active admin" in response.text
        ada.refresh_from_db()
        assert ada.is_active

    def test_twice_is_as_good_as_once(self, sign_in, ada, rosa):
        client = sign_in(ada)
        for _ in range(2):
            client.post(act(rosa, "deactivate"), {"confirm": rosa.email})
        assert AuditEntry.objects.count() == 1

    def test_an_admin_who_goes_is_sent_to_sign_in(self, sign_in, ada):
        make_user("second@example.org", Role.ADMIN)
        assert sign_in(ada).post(act(ada, "deactivate"), {"confirm": ada.email})["Location"] == "/accounts/sign-in/"
