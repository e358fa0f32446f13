"""The link of an invitation, as whoever has it sees it: CASES 34."""

import logging
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Role, User
from apps.studies.models import Invitation, MemberRole, Membership, RaterKind, StudyStatus
from apps.studies.services.blindness import may_see_ratings
from apps.studies.services.invitations import create_invitations, renew_invitation, revoke_invitation
from apps.studies.services.people import leave_as_rater, remove_member
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db

NEW_PERSON = {"name": "Nina", "email": "nina@example.org", "password": "a long walk home"}


@pytest.fixture
def invite(grief, rosa):
    """`invite(role=..., email=...)` is the address of a new invitation."""

    def made(role=MemberRole.RATER, email="", kind=RaterKind.EXPERT):
        emails = [email] if email else []
        [new] = create_invitations(study=grief, role=role, kind=kind, emails=emails, days=14, by=rosa)
        return f"/invite/{new.token}/"

    return made


def role_of(study, user) -> str:
    return study.memberships.get(user=user).role


# --- What is shown ----------------------------------------------------------------------------------------------------


def test_a_stranger_sees_what_it_is_about_and_the_two_ways_in(client, grief, invite):
    grief.content_warning = "Loss <b>and</b> death."
    grief.description = "We expect the model to win."
    grief.save()
    page = client.get(invite())
    assert page.status_code == 200
    for words in ("Grief", "Rosa invites you to rate conversations", "What rating means", "Make account and join"):
        assert words in page.text
    assert "Loss &lt;b&gt;and&lt;/b&gt; death." in page.text
    assert "/accounts/sign-in/?next=/invite/" in page.text
    # What a study is about could sway those who rate in it.
    assert grief.description not in page.text


@pytest.mark.parametrize(
    ("role", "words"), [("researcher", "as a researcher: you see its design"), ("owner", "as an owner: you run it")]
)
def test_the_role_is_said_in_words(client, invite, role, words):
    assert words in client.get(invite(role)).text


def test_the_page_is_not_kept_and_its_address_not_passed_on(client, invite):
    page = client.get(invite())
    assert "no-store" in page["Cache-Control"]
    assert page["Referrer-Policy"] == "strict-origin"
    assert page.text.count('href="http') == page.text.count('src="http') == 0
    assert "invite/" not in page.text.replace("next=/invite/", "")


def test_the_other_methods_are_refused(client, invite):
    assert client.put(invite()).status_code == 405
    assert client.delete(invite()).status_code == 405


def test_looking_changes_nothing(client, sign_in, otto, grief, invite):
    link = invite()
    client.get(link)
    sign_in(otto).get(link)
    assert Invitation.objects.get().used_at is None
    assert not grief.memberships.filter(user=otto).exists()


# --- Accepting --------------------------------------------------------------------------------------------------------


def test_a_signed_in_person_accepts_with_one_post(sign_in, grief, otto, invite):
    client, link = sign_in(otto), invite()
    assert "Accept the invitation" in client.get(link).text
    page = client.post(link, follow=True)
    assert page.redirect_chain == [("/studies/grief/rate/", 302)]
    assert "Welcome. You take part in “Grief” now." in page.text
    assert role_of(grief, otto) == MemberRole.RATER
    assert grief.raters.get(user=otto).name == "expert4"
    invitation = Invitation.objects.get()
    assert (invitation.used_by, invitation.used_at is not None) == (otto, True)


@pytest.mark.parametrize("role", ["researcher", "owner"])
def test_other_roles_make_no_rater(sign_in, grief, otto, invite, role):
    assert sign_in(otto).post(invite(role))["Location"] == "/studies/grief/"
    assert role_of(grief, otto) == role
    assert not grief.raters.filter(user=otto).exists()


def test_a_new_person_makes_an_account_and_is_in_the_study_at_once(client, grief, invite):
    page = client.post(invite(), NEW_PERSON, follow=True)
    assert page.redirect_chain == [("/studies/grief/rate/", 302)]
    nina = User.objects.get(email="nina@example.org")
    assert (nina.name, nina.role) == ("Nina", Role.ANNOTATOR)
    assert nina.check_password(NEW_PERSON["password"])
    assert grief.raters.get(user=nina).name == "expert4"
    assert client.get("/accounts/profile/").status_code == 200


def test_an_invitation_for_an_address_makes_an_account_of_that_address_only(client, grief, invite):
    link = invite(email="nina@example.org")
    assert 'value="nina@example.org"' in client.get(link).text
    client.post(link, NEW_PERSON | {"email": "other@example.org"})
    assert grief.raters.filter(user__email="nina@example.org").exists()
    assert not User.objects.filter(email="other@example.org").exists()


def test_whoever_has_an_account_signs_in_without_the_token_in_any_address(client, grief, otto, invite):
    link = invite()
    client.get(link)
    page = client.post(
        "/accounts/sign-in/?next=/invite/",
        {"username": otto.email, "password": PASSWORD, "next": "/invite/"},
        follow=True,
    )
    assert page.redirect_chain == [("/invite/", 302)]
    assert "Accept the invitation" in page.text
    assert "strict-origin" in page["Referrer-Policy"]
    client.post("/invite/")
    assert grief.raters.filter(user=otto).exists()
    assert client.get("/invite/").status_code == 404


def test_the_session_holds_no_token_either(client, invite):
    link = invite()
    client.get(link)
    assert link.split("/")[2] not in str(dict(client.session))


def test_an_address_with_an_account_is_led_to_sign_in(client, otto, invite):
    text = client.get(invite(email=otto.email)).text
    assert "Sign in and accept" in text
    assert "Make account" not in text


def test_nobody_takes_over_an_account_by_registering_its_address(client, grief, otto, invite):
    page = client.post(invite(), NEW_PERSON | {"email": "OTTO@example.org"})
    assert page.status_code == 422
    assert "already registered" in page.text
    otto.refresh_from_db()
    assert otto.check_password(PASSWORD)
    assert not grief.memberships.filter(user=otto).exists()
    assert Invitation.objects.get().used_at is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"password": "short"}, "too short"),
        ({"password": "password1234"}, "too common"),
        ({"password": "nina@example.org"}, "too similar"),
        ({"email": "nonsense"}, "valid email address"),
        ({"name": ""}, "required"),
        ({"name": "x" * 151}, "at most 150 characters"),
    ],
)
def test_an_account_that_cannot_be_is_said_and_the_invitation_stays_open(client, grief, invite, fields, words):
    page = client.post(invite(), NEW_PERSON | fields)
    assert page.status_code == 422
    assert words in page.text
    assert not User.objects.filter(name__startswith="Nina").exists()
    assert Invitation.objects.get().used_at is None
    assert NEW_PERSON["password"] not in page.text


# --- Members already --------------------------------------------------------------------------------------------------


def test_a_member_is_told_and_the_invitation_stays_good_for_somebody_else(sign_in, grief, emil, invite):
    client, link = sign_in(emil), invite()
    assert "You take part in this study already, as rater" in client.get(link).text
    page = client.post(link, follow=True)
    assert "stays good for somebody else" in page.text
    assert Invitation.objects.get().used_at is None


def test_a_role_is_raised_and_never_lowered(sign_in, grief, emil, rosa, invite):
    link = invite("researcher")
    assert "you would become researcher" in sign_in(emil).get(link).text
    sign_in(emil).post(link)
    assert role_of(grief, emil) == MemberRole.RESEARCHER
    assert not may_see_ratings(user=emil, study=grief)
    sign_in(rosa).post(invite("researcher"))
    assert role_of(grief, rosa) == MemberRole.OWNER


def test_an_owner_who_is_invited_to_rate_is_warned_keeps_the_role_and_becomes_blind(sign_in, grief, rosa, invite):
    client, link = sign_in(rosa), invite()
    assert "While you rate you see no ratings and results" in client.get(link).text
    client.post(link)
    assert role_of(grief, rosa) == MemberRole.OWNER
    assert not may_see_ratings(user=rosa, study=grief)


def test_who_gave_up_rating_does_not_come_back_by_an_invitation(sign_in, grief, emil, invite):
    leave_as_rater(study=grief, user=emil)
    page = sign_in(emil).post(invite())
    assert page.status_code == 409
    assert "cannot rate in it again" in page.text
    assert not grief.memberships.filter(user=emil).exists()
    assert Invitation.objects.get().used_at is None


def test_who_used_the_link_is_led_to_the_study_by_it(sign_in, otto, invite):
    client, link = sign_in(otto), invite()
    client.post(link)
    assert client.get(link)["Location"] == "/studies/grief/rate/"
    assert client.post(link)["Location"] == "/studies/grief/rate/"


def test_who_was_removed_meanwhile_is_told_that_the_link_was_used(sign_in, grief, rosa, otto, invite):
    client, link = sign_in(otto), invite(role=MemberRole.RESEARCHER)
    client.post(link)
    remove_member(membership=grief.memberships.get(user=otto), by=rosa)
    for answer in (client.get(link), client.post(link)):
        assert (answer.status_code, "used already" in answer.text) == (410, True)
    assert not grief.memberships.filter(user=otto).exists()


# --- CASES 34: refused ------------------------------------------------------------------------------------------------


@pytest.fixture
def dead(grief, rosa, emil, sign_in, invite):
    """`dead(how)` is the address of an invitation that is dead in that way."""

    def made(how):
        link = invite()
        row = Invitation.objects.latest("pk")
        if how == "expired":
            Invitation.objects.filter(pk=row.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
        elif how == "revoked":
            revoke_invitation(invitation=row, by=rosa)
        elif how == "used":
            Invitation.objects.filter(pk=row.pk).update(used_at=timezone.now(), used_by=emil)
        elif how == "renewed":
            renew_invitation(invitation=row, days=14, by=rosa)
        elif how == "closed":
            grief.status = StudyStatus.CLOSED
            grief.save()
        else:
            link = "/invite/made-up-token/"
        return link

    return made


DEAD = {"expired": 410, "revoked": 410, "used": 410, "closed": 410, "renewed": 404, "made up": 404}


@pytest.mark.parametrize(("how", "status"), DEAD.items())
@pytest.mark.parametrize("person", [None, "otto"])
def test_a_dead_link_is_refused_to_everybody_and_tells_no_study_case_34(
    sign_in, grief, otto, dead, how, status, person, request
):
    client, link = sign_in(request.getfixturevalue(person) if person else None), dead(how)
    for page in (client.get(link), client.post(link, NEW_PERSON)):
        assert page.status_code == status
        assert "This invitation does not work" in page.text
        assert "Grief" not in page.text
        assert "Rosa" not in page.text
        assert "no-store" in page["Cache-Control"]
        assert page["Referrer-Policy"] == "strict-origin"
    assert not User.objects.filter(email="nina@example.org").exists()
    assert not Membership.objects.filter(study=grief, user=otto).exists()


def test_a_post_without_csrf_token_is_refused_case_34(grief, otto, invite):
    client = Client(enforce_csrf_checks=True)
    client.force_login(otto, backend="django.contrib.auth.backends.ModelBackend")
    assert client.post(invite()).status_code == 403
    assert Client(enforce_csrf_checks=True).post(invite(), NEW_PERSON).status_code == 403
    assert not grief.memberships.filter(user=otto).exists()
    assert not User.objects.filter(email="nina@example.org").exists()


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_foreign_invitation_is_refused_in_words_case_34(sign_in, grief, otto, invite, method):
    page = getattr(sign_in(otto), method)(invite(email="nina@example.org"))
    assert page.status_code == 403
    assert "This invitation is for somebody else" in page.text
    assert "nina@example.org" not in page.text
    assert not grief.memberships.filter(user=otto).exists()
    assert Invitation.objects.get().used_at is None


FORGED = {"role": "admin", "rater_kind": "llm", "kind": "llm", "is_active": "1", "study": "strangers", "user": "1"}


def test_a_role_in_the_body_is_refused_the_rows_holds_case_34(client, sign_in, grief, otto, strangers, invite):
    sign_in(otto).post(invite(), FORGED)
    client.post(invite(), NEW_PERSON | FORGED)
    nina = User.objects.get(email="nina@example.org")
    assert (nina.role, nina.is_admin) == (Role.ANNOTATOR, False)
    for person in (otto, nina):
        assert role_of(grief, person) == MemberRole.RATER
        assert grief.raters.get(user=person).kind == RaterKind.EXPERT
    assert not strangers.memberships.filter(user=nina).exists()
    assert User.objects.get(pk=otto.pk).role == Role.RESEARCHER


def test_without_an_opened_link_there_is_nothing_to_accept(sign_in, client, otto, grief):
    assert client.get("/invite/").status_code == 404
    assert sign_in(otto).post("/invite/").status_code == 404


def test_a_deactivated_person_cannot_accept(sign_in, grief, otto, invite):
    client, link = sign_in(otto), invite(email=otto.email)
    otto.is_active = False
    otto.save()
    client.post(link, NEW_PERSON)
    assert not grief.memberships.filter(user=otto).exists()


def test_no_log_holds_the_token_case_34(client, sign_in, otto, invite, dead, caplog):
    with caplog.at_level(logging.DEBUG):
        for link in (invite(), dead("used"), dead("expired"), dead("made up")):
            for browser in (client, sign_in(otto), Client(enforce_csrf_checks=True)):
                browser.get(link)
                browser.post(link, {"name": "x"})
                browser.get(link, headers={"host": "bad host"})
            assert link.split("/")[2] not in caplog.text
    assert "[hidden]" in caplog.text


def test_a_script_in_the_title_or_a_name_is_shown_as_text_case_35(client, grief, rosa, invite):
    grief.title = rosa.name = "<script>alert(1)</script>"
    grief.save()
    rosa.save()
    text = client.get(invite()).text
    assert "<script>alert(1)" not in text
    assert text.count("&lt;script&gt;alert(1)") >= 2


def test_the_page_takes_few_queries(client, sign_in, otto, invite, django_assert_max_num_queries):
    link, signed_in = invite(), sign_in(otto)
    with django_assert_max_num_queries(7):  # the invitation, and a session that remembers it
        client.get(link)
    with django_assert_max_num_queries(7):
        signed_in.get(link)
