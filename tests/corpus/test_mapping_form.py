"""The form of a mapping gives back the mapping it was made from, whatever the columns are called."""

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from apps.corpus.forms.mapping import COLUMNS_SHOWN, SPEAKERS_SHOWN, MappingForm
from apps.corpus.parsing.mapping import (
    ABOUT_FIELDS,
    CONSTANT_FIELDS,
    FIELDS,
    ROLES,
    SHAPE_FIELDS,
    ColumnMapping,
    mapping_from_json,
)
from apps.corpus.parsing.preview import SpeakerPreview
from apps.corpus.parsing.speakers import Speakers, normal
from tests.corpus.uploading import as_sent

PRINTABLE = st.characters(exclude_categories=("C", "Z"))
HEADERS = st.lists(st.text(PRINTABLE, min_size=1, max_size=20), min_size=1, max_size=12, unique=True)
NAMES = st.text(PRINTABLE, min_size=1, max_size=20)
VALUES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30).filter(str.strip)


@st.composite
def mappings(draw) -> tuple[list[str], ColumnMapping]:
    """Headers, and a mapping as the form can make it: one meaning for a column, one column or constant for a field."""
    headers = draw(HEADERS)
    shape = draw(st.sampled_from(list(SHAPE_FIELDS.values())))
    fields = ["id", *shape, *ABOUT_FIELDS]
    fields += [f"{kind}.{name}" for kind in ("meta", "factor") for name in draw(st.lists(NAMES, max_size=2))]
    meant = draw(st.permutations(list(dict.fromkeys(fields))))[: len(headers)]
    columns, left_out = {}, []
    for header, field in zip(headers, meant, strict=False):
        use = draw(st.sampled_from(["mapped", "other", "unused"]))
        if use == "mapped":
            columns[field] = header
        elif use == "unused":
            left_out.append(header)
    free = [name for name in (*CONSTANT_FIELDS, "factor.model", "meta.site") if name not in columns]
    constants = draw(st.dictionaries(st.sampled_from(free), VALUES, max_size=3))
    roles = draw(st.dictionaries(st.text(PRINTABLE, min_size=1, max_size=12), st.sampled_from(ROLES), max_size=4))
    alike = {normal(label): label for label in roles}
    roles = {label: roles[label] for label in alike.values()}
    switches = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    return headers, ColumnMapping(columns, constants, roles, *switches, tuple(left_out))


@given(mappings())
def test_a_mapping_survives_the_form(made):
    headers, mapping = made
    shown = MappingForm(headers=headers, mapping=mapping)
    sent = MappingForm(as_sent(shown), headers=headers, mapping=ColumnMapping())  # type: ignore[arg-type]
    assert sent.is_valid(), sent.errors
    back = sent.mapping
    assert back.mapped() == mapping.mapped()
    assert back.constants == mapping.constants
    assert (back.drop_unmapped, back.clean_commas, back.without_text) == (
        mapping.drop_unmapped,
        mapping.clean_commas,
        mapping.without_text,
    )
    assert set(back.left_out) == set(mapping.left_out)
    assert set(FIELDS) <= set(back.columns)  # nothing is left to be guessed
    before, after = Speakers(mapping.roles), Speakers(back.roles)
    assert {label: before.role_for(label) for label in mapping.roles} == {
        label: after.role_for(label) for label in mapping.roles
    }


@given(mappings())
def test_a_mapping_survives_json(made):
    mapping = made[1]
    assert mapping_from_json(mapping.as_json()) == mapping
    open_ended = ColumnMapping(columns={"title": "", "id": "x"})
    assert mapping_from_json(open_ended.as_json()) == open_ended


def test_columns_and_labels_beyond_what_is_shown_keep_their_meaning():
    headers = [f"c{number}" for number in range(COLUMNS_SHOWN + 20)]
    last = headers[-1]
    roles = {f"label {number}": "seeker" for number in range(SPEAKERS_SHOWN + 5)}
    mapping = ColumnMapping(columns={"title": last}, roles=roles, left_out=(headers[-2],))
    form = MappingForm(headers=headers, mapping=mapping)
    assert len(form.column_rows()) == COLUMNS_SHOWN
    assert len(form.speaker_rows()) == SPEAKERS_SHOWN
    sent = MappingForm(as_sent(form), headers=headers, mapping=mapping)  # type: ignore[arg-type]
    assert sent.is_valid()
    assert sent.mapping.mapped() == {"title": last}
    assert sent.mapping.left_out == (headers[-2],)
    assert sent.mapping.roles == roles


def test_the_largest_form_is_one_that_the_site_takes():
    constants = {f"factor.f{number}": "x" for number in range(100)}
    roles = {f"label {number}": "seeker" for number in range(500)}
    headers = [f"c{number}" for number in range(1_000)]
    form = MappingForm(headers=headers, mapping=ColumnMapping(constants=constants, roles=roles))
    assert settings.DATA_UPLOAD_MAX_NUMBER_FIELDS is not None
    assert len(form.fields) + len(["csrfmiddlewaretoken", "mapping_name"]) <= settings.DATA_UPLOAD_MAX_NUMBER_FIELDS


def test_a_known_label_is_shown_with_its_role_and_kept_only_where_it_is_changed():
    speakers = [SpeakerPreview("User", 3, "seeker", True), SpeakerPreview("Ann", 1, "other", False)]
    form = MappingForm(headers=["a"], mapping=ColumnMapping(), speakers=speakers)
    assert [row.role.value() for row in form.speaker_rows()] == ["seeker", ""]
    sent = MappingForm(as_sent(form), headers=["a"], mapping=ColumnMapping())  # type: ignore[arg-type]
    assert sent.is_valid()
    assert sent.mapping.roles == {}
    changed = as_sent(form) | {"role_0": "other", "role_1": "text"}
    sent = MappingForm(changed, headers=["a"], mapping=ColumnMapping())  # type: ignore[arg-type]
    assert sent.is_valid()
    assert sent.mapping.roles == {"User": "other", "Ann": "text"}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"column_0": "klingon"}, "column_0"),
        ({"role_0": "boss"}, "role_0"),
        ({"column_0": "factor", "column_0_name": "x" * 101}, "column_0_name"),
        ({"column_0": "factor", "column_0_name": "m", "column_1": "factor", "column_1_name": "m"}, "column_1"),
        ({"headers_seen": "others"}, "headers_seen"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, key):
    speakers = [SpeakerPreview("Ann", 1, "other", False)]
    form = MappingForm(headers=["a", "b"], mapping=ColumnMapping(), speakers=speakers)
    sent = MappingForm(as_sent(form) | changes, headers=["a", "b"], mapping=ColumnMapping())
    assert not sent.is_valid()
    assert key in sent.errors


def test_a_form_with_nothing_in_it_is_refused():
    assert not MappingForm({}, headers=["a"], mapping=ColumnMapping()).is_valid()  # type: ignore[arg-type]
