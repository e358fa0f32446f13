"""Invitations as owners make, watch and end them."""

from datetime import timedelta
from smtplib import SMTPServerDisconnected

import pytest
from django.conf import settings
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.urls import reverse
from django.utils import timezone

from apps.common.models import AuditEntry
from apps.studies.models import Invitation, InvitationState, MemberRole, RaterKind, StudyStatus
from apps.studies.services.deleting import delete_study
from apps.studies.services.invitations import (
    DeadInvitationError,
    InvitationError,
    accept_invitation,
    create_invitations,
    renew_invitation,
    revoke_invitation,
)
from tests.conftest import make_user

pytestmark = pytest.mark.django_db

INVITE = "/studies/grief/people/invite/"
LIST = "/studies/grief/invitations/"
ONE_RATER = {"role": "rater", "kind": "expert", "number": "1", "days": "14"}


class BrokenMail(EmailBackend):
    """A mail server that cannot be reached."""

    def open(self):
        raise ConnectionRefusedError


class HalfBrokenMail(EmailBackend):
    """A mail server that refuses one address."""

    def send_messages(self, messages):
        if messages[0].to == ["bad@example.org"]:
            raise SMTPServerDisconnected
        return super().send_messages(messages)


def links_of(page) -> list[str]:
    return [link["address"] for link in page.context["links"]]


def token_of(link: str) -> str:
    return link.rstrip("/").rsplit("/", 1)[1]


@pytest.fixture
def invitation(grief, rosa):
    [new] = create_invitations(study=grief, role=MemberRole.RATER, kind=RaterKind.EXPERT, days=14, by=rosa)
    return new


# --- Making them ------------------------------------------------------------------------------------------------------


def test_a_link_is_shown_once_and_only_its_hash_is_stored(sign_in, rosa, grief):
    client = sign_in(rosa)
    page = client.post(INVITE, ONE_RATER)
    assert page.status_code == 201
    assert "no-store" in page["Cache-Control"]
    [link] = links_of(page)
    assert link.startswith("http://testserver/invite/")
    assert f">{link}<" in page.text
    invitation = Invitation.objects.get()
    assert token_of(link) not in str([getattr(invitation, field.attname) for field in Invitation._meta.fields])
    assert len(token_of(link)) >= 43
    assert (invitation.role, invitation.rater_kind, invitation.created_by) == ("rater", "expert", rosa)
    assert timedelta(days=13) < invitation.expires_at - timezone.now() <= timedelta(days=14)
    for address in (LIST, "/studies/grief/people/", "/", "/studies/grief/", "/api/v1/studies/grief/"):
        assert token_of(link) not in client.get(address).text
    assert token_of(link) not in str(list(AuditEntry.objects.values_list("details", "subject")))
    assert mail.outbox == []


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("localhost:8000", True),
        ("127.0.0.1", True),
        ("127.8.0.1:80", True),
        ("[::1]:8000", True),
        ("accord.test", False),
    ],
)
def test_a_link_that_works_only_on_this_computer_says_so(sign_in, rosa, grief, host, is_local):
    page = sign_in(rosa).post(INVITE, ONE_RATER, HTTP_HOST=host)
    assert ("The link works only on this computer" in page.text) == is_local
    assert ("docs/running.md" in page.text) == is_local
    assert page.text.count('class="message message--warning"') == 1


def test_many_links_are_spoken_of_as_many(sign_in, rosa, grief):
    page = sign_in(rosa).post(INVITE, ONE_RATER | {"number": "3"}, HTTP_HOST="localhost")
    assert "copy the links now" in page.text
    assert "Each lets in whoever opens it first" in page.text
    assert "The links work only on this computer" in page.text


def test_several_links_are_made_at_once_each_its_own(sign_in, rosa, grief):
    links = links_of(sign_in(rosa).post(INVITE, ONE_RATER | {"number": "5"}))
    assert len(set(links)) == 5
    assert Invitation.objects.count() == 5


def test_a_list_of_addresses_makes_a_link_for_each_whatever_parts_them(sign_in, rosa, grief):
    emails = "One@example.org, two@example.org\n\nthree@example.org;one@example.org"
    page = sign_in(rosa).post(INVITE, ONE_RATER | {"emails": emails, "number": "7"})
    assert [link["invitation"].email for link in page.context["links"]] == [
        "one@example.org",
        "two@example.org",
        "three@example.org",
    ]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"role": "admin"}, "not one of the available choices"),
        ({"kind": "llm"}, "not one of the available choices"),
        ({"kind": ""}, "Choose as which kind of rater."),
        ({"number": "51"}, "less than or equal to 50"),
        ({"number": "0"}, "greater than or equal to 1"),
        ({"days": "91"}, "less than or equal to 90"),
        ({"days": ""}, "required"),
        ({"emails": "one@example.org\nnonsense"}, "nonsense is no e-mail address."),
        ({"emails": "\n".join(f"p{n}@example.org" for n in range(51))}, "These are 51 addresses"),
        ({"emails": "emil@example.org"}, "emil@example.org: in this study already"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_stored(sign_in, rosa, grief, fields, words):
    page = sign_in(rosa).post(INVITE, ONE_RATER | fields)
    assert page.status_code == 422
    assert words in page.text
    assert not Invitation.objects.exists()


def test_an_address_that_has_an_open_invitation_gets_no_second_one(sign_in, rosa, grief):
    client = sign_in(rosa)
    client.post(INVITE, ONE_RATER | {"emails": "new@example.org"})
    page = client.post(INVITE, ONE_RATER | {"emails": "new@example.org"})
    assert "There is an open invitation for new@example.org" in page.text
    revoke_invitation(invitation=Invitation.objects.get(), by=rosa)
    assert client.post(INVITE, ONE_RATER | {"emails": "new@example.org"}).status_code == 201


def test_a_kind_that_no_block_asks_for_is_pointed_out(sign_in, rosa, grief):
    client = sign_in(rosa)
    words = "they will find nothing to rate"
    assert words in client.post(INVITE, ONE_RATER | {"kind": "crowd"}).text
    assert words not in client.post(INVITE, ONE_RATER).text
    assert words not in client.post(INVITE, ONE_RATER | {"role": "researcher"}).text


def test_the_form_costs_the_same_however_many_addresses(sign_in, rosa, grief, django_assert_max_num_queries):
    client = sign_in(rosa)
    with django_assert_max_num_queries(20):
        page = client.post(INVITE, ONE_RATER | {"emails": "\n".join(f"p{n}@example.org" for n in range(50))})
    assert len(links_of(page)) == 50


# --- Mail -------------------------------------------------------------------------------------------------------------


def test_a_mail_goes_to_the_address_with_the_link_of_the_sites_own_name(sign_in, rosa, grief):
    grief.title = "Grief & <loss>\nII"
    grief.save()
    page = sign_in(rosa).post(INVITE, ONE_RATER | {"emails": "new@example.org"}, headers={"host": "evil.example"})
    [message] = mail.outbox
    assert message.to == ["new@example.org"]
    assert message.subject == "Invitation to Grief & <loss> II"
    [link] = links_of(page)
    assert f"{settings.BASE_URL}/invite/{token_of(link)}/" in message.body
    assert "evil.example" not in message.body
    assert "Rosa invites you to rate conversations" in message.body
    assert "The link is on its way by mail." in page.text


@pytest.mark.parametrize("name", ["console", "dummy", "filebased"])
def test_a_site_without_mail_says_so_and_shows_the_link(sign_in, rosa, grief, settings, name, capsys):
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{name}.EmailBackend"
    client = sign_in(rosa)
    assert "This site sends no mail" in client.get(INVITE).text
    page = client.post(INVITE, ONE_RATER | {"emails": "new@example.org"})
    assert "No mail was sent: copy the link now and hand it over yourself." in page.text
    [link] = links_of(page)
    assert token_of(link) not in "".join(capsys.readouterr())


def test_a_mail_server_that_cannot_be_reached_is_said_and_the_link_shown(sign_in, rosa, grief, settings):
    settings.EMAIL_BACKEND = f"{__name__}.BrokenMail"
    page = sign_in(rosa).post(INVITE, ONE_RATER | {"emails": "new@example.org"})
    assert page.status_code == 201
    assert "No mail could be sent to new@example.org." in page.text
    assert len(links_of(page)) == 1


def test_one_mail_that_fails_does_not_keep_the_others(sign_in, rosa, grief, settings):
    settings.EMAIL_BACKEND = f"{__name__}.HalfBrokenMail"
    page = sign_in(rosa).post(INVITE, ONE_RATER | {"emails": "bad@example.org\ngood@example.org"})
    assert "No mail could be sent to bad@example.org." in page.text
    assert [message.to for message in mail.outbox] == [["good@example.org"]]


# --- The list ---------------------------------------------------------------------------------------------------------


def test_the_list_tells_the_state_of_each(sign_in, rosa, grief, otto):
    def make(**fields):
        [new] = create_invitations(study=grief, role=MemberRole.RESEARCHER, days=14, by=rosa, **fields)
        return new.invitation

    make(emails=["open@example.org"])
    accept_invitation(invitation=make(), user=otto)
    revoke_invitation(invitation=make(), by=rosa)
    Invitation.objects.filter(pk=make().pk).update(expires_at=timezone.now() - timedelta(days=1))
    text = sign_in(rosa).get(LIST).text
    for words in ("open@example.org", ">Open<", "by Otto", ">Used<", ">Revoked<", ">Expired<"):
        assert words in text
    assert text.count("/renew/") == text.count("/revoke/") == 2
    assert str(sorted(row.state for row in grief.invitations.all())) == str(
        sorted([InvitationState.OPEN, InvitationState.USED, InvitationState.REVOKED, InvitationState.EXPIRED])
    )
    assert grief.invitations.open().get().email == "open@example.org"


def test_the_list_comes_in_pages_with_a_constant_number_of_queries(sign_in, rosa, grief, django_assert_num_queries):
    client = sign_in(rosa)
    create_invitations(study=grief, role=MemberRole.RESEARCHER, days=14, by=rosa)
    with django_assert_num_queries(6):
        client.get(LIST)
    for number in range(30):
        user = make_user(f"p{number}@example.org", "annotator")
        for new in create_invitations(study=grief, role=MemberRole.RESEARCHER, number=2, days=14, by=user)[:1]:
            revoke_invitation(invitation=new.invitation, by=user)
    with django_assert_num_queries(6):
        text = client.get(LIST).text
    assert "Page 1 of 2" in text
    part = client.get(LIST, headers={"HX-Request": "true"}).text
    assert part.lstrip().startswith('<div id="invitation-list">')


def test_an_empty_list_says_what_an_invitation_is(sign_in, rosa, grief):
    assert "Nobody was invited yet" in sign_in(rosa).get(LIST).text


def test_no_address_of_the_api_lists_them(sign_in, rosa, grief, invitation):
    schema = sign_in(rosa).get("/api/v1/schema/").text
    assert "invitation" not in schema.lower()
    assert sign_in(rosa).get("/api/v1/studies/grief/invitations/").status_code == 404


# --- Ending and renewing ----------------------------------------------------------------------------------------------


def test_a_revoked_link_is_dead(sign_in, client, rosa, invitation):
    page = sign_in(rosa).post(
        reverse("studies:invitation-revoke", args=["grief", invitation.invitation.pk]), follow=True
    )
    assert "its link no longer works" in page.text
    assert client.get(f"/invite/{invitation.token}/").status_code == 410
    row = Invitation.objects.get()
    assert (row.state, row.revoked_by) == (InvitationState.REVOKED, rosa)
    revoke_invitation(invitation=row, by=rosa)
    assert AuditEntry.objects.filter(action="invitation.revoke").count() == 1


def test_a_renewed_one_has_a_new_link_and_the_old_one_is_dead(sign_in, client, rosa, invitation):
    Invitation.objects.update(expires_at=timezone.now() - timedelta(days=1))
    assert client.get(f"/invite/{invitation.token}/").status_code == 410
    page = sign_in(rosa).post(reverse("studies:invitation-renew", args=["grief", invitation.invitation.pk]))
    assert page.status_code == 201
    [link] = links_of(page)
    assert client.get(f"/invite/{invitation.token}/").status_code == 404
    assert client.get(f"/invite/{token_of(link)}/").status_code == 200
    assert Invitation.objects.count() == 1


def test_a_used_one_can_neither_be_revoked_nor_renewed(sign_in, rosa, otto, invitation):
    accept_invitation(invitation=invitation.invitation, user=otto)
    client, pk = sign_in(rosa), invitation.invitation.pk
    for name in ("invitation-revoke", "invitation-renew"):
        page = client.post(reverse(f"studies:{name}", args=["grief", pk]), follow=True)
        assert "was used already" in page.text
    assert Invitation.objects.get().state == InvitationState.USED


def test_a_revoked_one_is_not_renewed(rosa, invitation):
    revoke_invitation(invitation=invitation.invitation, by=rosa)
    with pytest.raises(InvitationError, match="Make a new one"):
        renew_invitation(invitation=invitation.invitation, days=14, by=rosa)


def test_the_token_is_not_told_by_the_object(invitation):
    assert invitation.token not in repr(invitation)


def test_an_invitation_whose_study_was_deleted_meanwhile_is_dead(rosa, otto, invitation):
    study = invitation.invitation.study
    study.status = StudyStatus.DRAFT
    study.save()
    delete_study(study=study, by=rosa)
    with pytest.raises(DeadInvitationError, match="was deleted"):
        accept_invitation(invitation=invitation.invitation, user=otto)
