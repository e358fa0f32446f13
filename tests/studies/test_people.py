"""Who takes part in a study: joining, changing, leaving, and the pages of it."""

from functools import partial

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.annotation.models import Rating
from apps.annotation.services.recording import Origin, record_rating
from apps.common.models import AuditEntry
from apps.studies.models import AssignmentState, Item, MemberRole, Membership, Rater, RaterKind, Study
from apps.studies.services.blindness import may_see_ratings
from apps.studies.services.exclusions import exclude
from apps.studies.services.invitations import create_invitations
from apps.studies.services.people import (
    LastOwnerError,
    PeopleError,
    UnknownPersonError,
    add_member,
    change_member_role,
    join_as_rater,
    leave_as_rater,
    remove_member,
)
from tests.conftest import make_user

pytestmark = pytest.mark.django_db


def member(study, user) -> Membership:
    return study.memberships.select_related("study", "user").get(user=user)


def items(study):
    return list(Item.objects.filter(block__study=study))


# --- Joining and changing ---------------------------------------------------------------------------------------------


def test_somebody_with_an_account_joins_at_once_whatever_the_case_of_the_address(grief, rosa, otto):
    membership = add_member(study=grief, email=" Otto@Example.org ", role=MemberRole.RESEARCHER, by=rosa)
    assert (membership.user, membership.role) == (otto, MemberRole.RESEARCHER)
    assert not grief.raters.filter(user=otto).exists()
    entry = AuditEntry.objects.get(action="member.add")
    assert (entry.actor, entry.subject, entry.details["person"]) == (rosa, "grief", otto.email)


def test_who_joins_as_rater_gets_the_next_pseudonym(grief, rosa, otto):
    add_member(study=grief, email=otto.email, role=MemberRole.RATER, kind=RaterKind.EXPERT, by=rosa)
    assert grief.raters.get(user=otto).name == "expert4"


@pytest.mark.parametrize("kind", ["", RaterKind.LLM, RaterKind.BASELINE, "king"])
def test_nobody_joins_as_a_rater_that_is_no_person_and_nothing_is_half_done(grief, rosa, otto, kind):
    with pytest.raises(PeopleError, match="kind of rater"):
        add_member(study=grief, email=otto.email, role=MemberRole.RATER, kind=kind, by=rosa)
    assert not grief.memberships.filter(user=otto).exists()


def test_nobody_is_added_twice(grief, rosa, emil):
    with pytest.raises(PeopleError, match="already"):
        add_member(study=grief, email=emil.email, role=MemberRole.OWNER, by=rosa)
    assert member(grief, emil).role == MemberRole.RATER


def test_an_unknown_or_deactivated_person_is_not_added(grief, rosa, otto):
    otto.is_active = False
    otto.save()
    for email in ("nobody@example.org", otto.email):
        with pytest.raises(UnknownPersonError):
            add_member(study=grief, email=email, role=MemberRole.RESEARCHER, by=rosa)


def test_a_rater_who_becomes_a_researcher_stays_blind(grief, rosa, emil):
    change_member_role(membership=member(grief, emil), role=MemberRole.RESEARCHER, by=rosa)
    assert grief.is_readable_by(emil)
    assert not may_see_ratings(user=emil, study=grief)
    assert grief.raters.get(user=emil).name == "expert1"


def test_a_researcher_who_becomes_a_rater_gets_a_pseudonym(grief, rosa, otto):
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    change_member_role(membership=member(grief, otto), role=MemberRole.RATER, kind=RaterKind.CROWD, by=rosa)
    assert grief.raters.get(user=otto).name == "crowd001"


def test_the_last_owner_stays(grief, rosa, otto):
    with pytest.raises(LastOwnerError):
        change_member_role(membership=member(grief, rosa), role=MemberRole.RESEARCHER, by=rosa)
    with pytest.raises(LastOwnerError):
        remove_member(membership=member(grief, rosa), by=rosa)
    add_member(study=grief, email=otto.email, role=MemberRole.OWNER, by=rosa)
    remove_member(membership=member(grief, rosa), by=otto)
    with pytest.raises(LastOwnerError):
        remove_member(membership=member(grief, otto), by=otto)


def test_a_deactivated_owner_does_not_count_as_one(grief, rosa, otto):
    add_member(study=grief, email=otto.email, role=MemberRole.OWNER, by=rosa)
    otto.is_active = False
    otto.save()
    with pytest.raises(LastOwnerError):
        remove_member(membership=member(grief, rosa), by=rosa)


@pytest.mark.parametrize("act", [remove_member, partial(change_member_role, role=MemberRole.OWNER)])
def test_of_two_owners_who_remove_one_person_the_later_is_told(grief, rosa, emil, act):
    first, second = member(grief, emil), member(grief, emil)
    remove_member(membership=first, by=rosa)
    with pytest.raises(PeopleError, match="no longer takes part"):
        act(membership=second, by=rosa)
    assert not grief.memberships.filter(user=emil).exists()


@pytest.mark.parametrize("how", ["removed", "researcher"])
def test_who_is_an_owner_no_longer_has_no_way_back_by_links_to_the_results(grief, rosa, otto, how):
    add_member(study=grief, email=otto.email, role=MemberRole.OWNER, by=rosa)
    made = {
        (by, role): create_invitations(study=grief, role=role, kind=RaterKind.EXPERT, days=3, by=by)[0].invitation.pk
        for by in (otto, rosa)
        for role in MemberRole
    }
    if how == "removed":
        remove_member(membership=member(grief, otto), by=rosa)
    else:
        change_member_role(membership=member(grief, otto), role=MemberRole.RESEARCHER, by=rosa)
    revoked = grief.invitations.filter(revoked_by=rosa, revoked_at__isnull=False).values_list("pk", flat=True)
    assert set(revoked) == {made[otto, MemberRole.OWNER], made[otto, MemberRole.RESEARCHER]}


def test_an_admin_who_is_no_member_may_rate_and_is_blind_then(grief, ada):
    rater = join_as_rater(study=grief, user=ada, kind=RaterKind.EXPERT)
    assert rater.name == "expert4"
    assert member(grief, ada).role == MemberRole.RATER
    assert not may_see_ratings(user=ada, study=grief)


# --- Leaving ----------------------------------------------------------------------------------------------------------


def hold(rater, item, state, position=0):
    return rater.assignments.create(item=item, state=state, position=position, reserved_until=timezone.now())


def test_a_removed_rater_who_has_rated_stays_under_the_pseudonym_case_27(grief, rosa, emil, framework):
    rater = grief.raters.get(user=emil)
    record_rating(
        item=items(grief)[0], rater=rater, dimension=framework.dimensions.first(), value=4, origin=Origin.SCREEN
    )
    remove_member(membership=member(grief, emil), by=rosa)
    rater.refresh_from_db()
    assert (rater.name, rater.user) == ("expert1", emil)
    assert rater.left_at is not None
    assert Rating.objects.get().rater == rater
    assert not Study.objects.visible_to(emil).exists()


def test_a_rater_who_has_done_nothing_leaves_no_trace_and_may_come_back(grief, rosa, emil):
    remove_member(membership=member(grief, emil), by=rosa)
    assert not grief.raters.filter(user=emil).exists()
    add_member(study=grief, email=emil.email, role=MemberRole.RATER, kind=RaterKind.EXPERT, by=rosa)
    assert grief.raters.get(user=emil).left_at is None


def test_a_rater_who_was_excluded_leaves_a_trace(grief, rosa, emil):
    exclude(rater=grief.raters.get(user=emil), by=rosa)
    remove_member(membership=member(grief, emil), by=rosa)
    assert grief.raters.get(user=emil).left_at is not None


def test_a_removed_researcher_who_rated_cannot_come_back_as_rater(grief, rosa, emil):
    change_member_role(membership=member(grief, emil), role=MemberRole.RESEARCHER, by=rosa)
    remove_member(membership=member(grief, emil), by=rosa)
    with pytest.raises(PeopleError, match="given up rating"):
        add_member(study=grief, email=emil.email, role=MemberRole.RATER, kind=RaterKind.EXPERT, by=rosa)
    assert not grief.memberships.filter(user=emil).exists()


def test_who_gives_up_rating_frees_what_is_unfinished_and_keeps_what_is_done(grief, emil):
    rater = grief.raters.get(user=emil)
    first, second, third = items(grief)
    hold(rater, first, AssignmentState.SUBMITTED)
    hold(rater, second, AssignmentState.IN_PROGRESS, 1)
    hold(rater, third, AssignmentState.ASSIGNED, 2)
    leave_as_rater(study=grief, user=emil)
    assert list(rater.assignments.values_list("state", flat=True)) == ["submitted", "lapsed", "lapsed"]
    assert not rater.assignments.filter(state="lapsed", reserved_until__isnull=False).exists()
    assert not grief.memberships.filter(user=emil).exists()


def test_an_owner_who_gives_up_rating_sees_results_and_can_never_rate_there_again(grief, rosa):
    join_as_rater(study=grief, user=rosa, kind=RaterKind.EXPERT)
    assert not may_see_ratings(user=rosa, study=grief)
    leave_as_rater(study=grief, user=rosa)
    assert may_see_ratings(user=rosa, study=grief)
    assert member(grief, rosa).role == MemberRole.OWNER
    with pytest.raises(PeopleError, match="given up rating"):
        join_as_rater(study=grief, user=rosa, kind=RaterKind.EXPERT)
    with pytest.raises(PeopleError, match="do not rate"):
        leave_as_rater(study=grief, user=rosa)


# --- The list of people -----------------------------------------------------------------------------------------------


@pytest.fixture
def rob(grief):
    """A researcher of the study."""
    user = make_user("rob@example.org", "researcher", "Rob")
    Membership.objects.create(study=grief, user=user, role=MemberRole.RESEARCHER)
    return user


def address(name, *args):
    return reverse(f"studies:{name}", args=args)


@pytest.mark.parametrize("person", ["rosa", "ada"])
def test_owners_and_admins_see_who_is_behind_a_pseudonym(sign_in, grief, person, request):
    text = sign_in(request.getfixturevalue(person)).get(address("people", "grief")).text
    for words in ("Rosa", "Emil", "emil@example.org", "expert1", "Owner", "Invite people"):
        assert words in text


def test_a_researcher_sees_who_takes_part_and_no_pseudonym_address_or_act(sign_in, grief, rob):
    text = sign_in(rob).get(address("people", "grief")).text
    assert "Rosa" in text
    assert "Emil" in text
    for words in ("expert1", "emil@example.org", "Invite people", "invitations/", ">Change<"):
        assert words not in text
    assert "expert1" not in sign_in(rob).get(address("people", "grief"), {"show": "left"}).text


def test_the_order_of_joining_does_not_show_through(sign_in, grief, rosa, rob):
    """Pseudonyms are numbered as people join: a list in that order would give them away."""
    for name in ("Zoe", "Abel"):
        user = make_user(f"{name.lower()}@example.org", "annotator", name)
        add_member(study=grief, email=user.email, role=MemberRole.RATER, kind=RaterKind.EXPERT, by=rosa)
    text = sign_in(rob).get(address("people", "grief")).text
    assert text.index("Abel") < text.index("Emil") < text.index("Zoe")


def test_raters_who_have_left_are_listed_for_owners(sign_in, grief, rosa, emil):
    leave_as_rater(study=grief, user=emil)
    text = sign_in(rosa).get(address("people", "grief"), {"show": "left"}).text
    assert "emil@example.org" in text
    assert "expert1" in text
    assert "emil@example.org" not in sign_in(rosa).get(address("people", "grief")).text


def test_the_list_comes_in_pages_with_a_constant_number_of_queries(sign_in, grief, rosa, django_assert_num_queries):
    client = sign_in(rosa)
    with django_assert_num_queries(11):
        client.get(address("people", "grief"))
    for number in range(60):
        user = make_user(f"p{number}@example.org", "annotator")
        Membership.objects.create(study=grief, user=user, role=MemberRole.RATER)
        Rater.objects.create(study=grief, user=user, kind=RaterKind.CROWD, name=f"crowd{number:03d}")
    with django_assert_num_queries(11):
        text = client.get(address("people", "grief")).text
    assert "Page 1 of 2" in text


def test_htmx_gets_the_list_alone(sign_in, grief, rosa):
    part = sign_in(rosa).get(address("people", "grief"), headers={"HX-Request": "true"}).text
    assert part.lstrip().startswith('<div id="people-list">')
    assert "<html" not in part


def test_a_script_in_a_name_is_shown_as_text_case_35(sign_in, grief, rosa, emil):
    emil.name = "<script>alert(1)</script>"
    emil.save()
    for name, args in (("people", ["grief"]), ("member", ["grief", member(grief, emil).pk])):
        text = sign_in(rosa).get(address(name, *args)).text
        assert "<script>alert(1)" not in text
        assert "&lt;script&gt;alert(1)" in text


# --- Acts of owners ---------------------------------------------------------------------------------------------------


def test_an_owner_adds_somebody_with_an_account(sign_in, grief, rosa, otto):
    fields = {"email": "OTTO@example.org", "role": "rater", "kind": "expert"}
    page = sign_in(rosa).post(address("member-add", "grief"), fields, follow=True)
    assert "Otto takes part now." in page.text
    assert grief.raters.get(user=otto).name == "expert4"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"email": "nobody@example.org", "role": "researcher"}, "has an account. Invite them instead."),
        ({"email": "emil@example.org", "role": "researcher"}, "is a member of this study already"),
        ({"email": "nonsense", "role": "researcher"}, "valid email address"),
        ({"email": "otto@example.org", "role": "admin"}, "not one of the available choices"),
        ({"email": "otto@example.org", "role": "rater", "kind": ""}, "Choose as which kind of rater."),
        ({"email": "otto@example.org", "role": "rater", "kind": "llm"}, "not one of the available choices"),
    ],
)
def test_what_cannot_be_added_is_said_and_nothing_is_stored(sign_in, grief, rosa, otto, fields, words):
    page = sign_in(rosa).post(address("member-add", "grief"), fields)
    assert page.status_code == 422
    assert words in page.text
    assert grief.memberships.count() == 2


def test_an_owner_changes_a_role(sign_in, grief, rosa, emil):
    pk = member(grief, emil).pk
    client = sign_in(rosa)
    assert "expert1" in client.get(address("member", "grief", pk)).text
    page = client.post(address("member-role", "grief", pk), {"role": "researcher"}, follow=True)
    assert "The role of Emil is saved." in page.text
    assert member(grief, emil).role == MemberRole.RESEARCHER


def test_the_last_owner_is_told(sign_in, grief, rosa):
    pk = member(grief, rosa).pk
    client = sign_in(rosa)
    page = client.post(address("member-role", "grief", pk), {"role": "researcher"})
    assert page.status_code == 422
    assert "last owner" in page.text
    page = client.post(address("member-remove", "grief", pk), {"confirm": rosa.email})
    assert page.status_code == 422
    assert "last owner" in page.text
    assert member(grief, rosa).role == MemberRole.OWNER


def test_nobody_is_removed_by_a_slip(sign_in, grief, rosa, emil):
    pk = member(grief, emil).pk
    client = sign_in(rosa)
    page = client.post(address("member-remove", "grief", pk), {"confirm": "rosa@example.org"})
    assert page.status_code == 422
    assert grief.memberships.filter(user=emil).exists()
    page = client.post(address("member-remove", "grief", pk), {"confirm": " Emil@example.org"}, follow=True)
    assert "Emil no longer takes part." in page.text
    assert not grief.memberships.filter(user=emil).exists()


def test_who_gives_up_the_own_ownership_lands_on_a_page_that_opens(sign_in, grief, rosa, otto):
    add_member(study=grief, email=otto.email, role=MemberRole.OWNER, by=rosa)
    page = sign_in(rosa).post(
        address("member-remove", "grief", member(grief, rosa).pk), {"confirm": rosa.email}, follow=True
    )
    assert page.status_code == 200
    assert not grief.memberships.filter(user=rosa).exists()


# --- Rating oneself ---------------------------------------------------------------------------------------------------


def test_an_owner_starts_rating_after_saying_that_the_results_are_given_up(sign_in, grief, rosa):
    client = sign_in(rosa)
    assert "You no longer see ratings" in client.get(address("rating-join", "grief")).text
    assert client.post(address("rating-join", "grief"), {"kind": "expert"}).status_code == 422
    assert not grief.raters.filter(user=rosa).exists()
    page = client.post(address("rating-join", "grief"), {"kind": "expert", "confirm": "on"}, follow=True)
    assert "You rate in this study now, as expert4." in page.text
    assert not may_see_ratings(user=rosa, study=grief)
    assert "already, as expert4" in client.get(address("rating-join", "grief")).text


def test_who_gave_up_rating_cannot_start_again(sign_in, grief, rosa):
    join_as_rater(study=grief, user=rosa, kind=RaterKind.EXPERT)
    leave_as_rater(study=grief, user=rosa)
    client = sign_in(rosa)
    assert "cannot rate in it again" in client.get(address("rating-join", "grief")).text
    page = client.post(address("rating-join", "grief"), {"kind": "expert", "confirm": "on"})
    assert page.status_code == 422
    assert grief.raters.get(user=rosa).left_at is not None


def test_a_rater_gives_up_rating_after_being_told_what_becomes_of_it(sign_in, grief, emil):
    rater = grief.raters.get(user=emil)
    first, second, _third = items(grief)
    hold(rater, first, AssignmentState.SUBMITTED)
    hold(rater, second, AssignmentState.IN_PROGRESS, 1)
    client = sign_in(emil)
    text = client.get(address("rating-leave", "grief")).text
    for words in (
        "The 1 conversation you submitted stays",
        "becomes free for others",
        "You can no longer open the study.",
    ):
        assert words in text
    assert client.post(address("rating-leave", "grief"), {}).status_code == 422
    page = client.post(address("rating-leave", "grief"), {"confirm": "on"}, follow=True)
    assert "You no longer rate in Grief." in page.text
    rater.refresh_from_db()
    assert rater.left_at is not None
    assert client.get(address("rating-leave", "grief")).status_code == 404


def test_an_owner_who_gives_up_rating_stays_in_the_study(sign_in, grief, rosa):
    join_as_rater(study=grief, user=rosa, kind=RaterKind.EXPERT)
    client = sign_in(rosa)
    assert "You see the ratings and results" in client.get(address("rating-leave", "grief")).text
    page = client.post(address("rating-leave", "grief"), {"confirm": "on"}, follow=True)
    assert page.redirect_chain[-1][0] == address("overview", "grief")
    assert may_see_ratings(user=rosa, study=grief)


def test_only_raters_of_the_study_can_give_up_rating(sign_in, grief, rosa, otto):
    assert sign_in(rosa).get(address("rating-leave", "grief")).status_code == 404
    assert sign_in(otto).post(address("rating-leave", "grief"), {"confirm": "on"}).status_code == 404


# --- The ladder -------------------------------------------------------------------------------------------------------

SHOWN = ["people", "member", "rating-join", "invitations", "invite"]
ACTS = ["member-add", "member-role", "member-remove", "invitation-revoke", "invitation-renew"]
OF_ONE = {"member", "member-role", "member-remove"}
OF_ONE_INVITATION = {"invitation-revoke", "invitation-renew"}
MANAGED = {*SHOWN, *ACTS} - {"people", "rating-join"}


@pytest.fixture
def where(grief, emil, rosa):
    invitation = grief.invitations.create(
        role="researcher", token_hash="0" * 64, created_by=rosa, expires_at=timezone.now()
    )

    def found(name: str, slug: str = "grief") -> str:
        if name in OF_ONE:
            return address(name, slug, member(grief, emil).pk)
        if name in OF_ONE_INVITATION:
            return address(name, slug, invitation.pk)
        return address(name, slug)

    return found


def ask(client, name, url):
    return client.post(url, {}) if name in ACTS else client.get(url)


@pytest.mark.parametrize("name", [*SHOWN, *ACTS, "rating-leave"])
def test_nobody_is_sent_to_sign_in(sign_in, where, name):
    assert ask(sign_in(None), name, where(name))["Location"].startswith(reverse("accounts:sign-in"))


@pytest.mark.parametrize("name", [*SHOWN, *ACTS])
def test_to_raters_and_strangers_it_is_not_there(sign_in, where, emil, otto, strangers, name):
    assert ask(sign_in(emil), name, where(name)).status_code == 404
    assert ask(sign_in(otto), name, where(name)).status_code == 404


@pytest.mark.parametrize("name", sorted(MANAGED))
def test_a_researcher_of_the_study_changes_nothing(sign_in, where, rob, name):
    before = list(Membership.objects.values_list("pk", "role"))
    assert ask(sign_in(rob), name, where(name)).status_code == 403
    assert list(Membership.objects.values_list("pk", "role")) == before


@pytest.mark.parametrize("name", sorted(OF_ONE | OF_ONE_INVITATION))
def test_the_row_of_another_study_is_not_there(sign_in, where, otto, strangers, name):
    assert ask(sign_in(otto), name, where(name, "strangers")).status_code == 404


@pytest.mark.parametrize("name", SHOWN)
def test_pages_open_for_admins(sign_in, where, ada, name):
    assert sign_in(ada).get(where(name)).status_code == 200


@pytest.mark.parametrize("name", ACTS)
def test_acts_are_never_links(sign_in, where, rosa, name):
    assert sign_in(rosa).get(where(name)).status_code == 405


@pytest.mark.parametrize("name", ["people", "member", "invitations"])
def test_pages_only_show(sign_in, where, rosa, name):
    assert sign_in(rosa).post(where(name)).status_code == 405
    assert sign_in(rosa).delete(where(name)).status_code == 405
