"""The methods paragraph is true of what was chosen and of the ratings: each claim is there only where it holds."""

import re
from dataclasses import replace

import pytest

from apps.measures.scale import Level
from apps.reliability.accounting import (
    Account,
    BlockAccount,
    ItemsAccount,
    ItemUse,
    RaterAccount,
    RaterUse,
    RatingCounts,
)
from apps.reliability.matrix import Kind, TableKey
from apps.reliability.selection import DataSelection
from apps.reports.contents import ReportContent, ReportOptions, Stars
from apps.reports.methods import methods_paragraphs, methods_text
from tests.reliability.conftest import make_table
from tests.reports.made import KINDS, OBSERVED, content_of, file_tables, study_tables


def said(content: ReportContent) -> str:
    paragraphs, _references = methods_paragraphs(content)
    return "\n".join(paragraphs)


def with_account(**changes) -> ReportContent:
    return content_of(study_tables(["warmth"]), resamples=0, account=Account(**changes))


def test_the_study_its_raters_and_its_scales():
    text = said(content_of(study_tables()))
    assert "7 conversations (of 8) of the dataset Old letters were rated by " in text
    assert "3 experts, 1 imported aggregate of crowd workers (crowd) and 1 language model (gpt)" in text
    assert "on 2 scales of Care Scales, version 2 [1] (ordinal scale of 5 points from 1 to 5): 70 ratings." in text
    assert "second ratings" not in text


def test_several_blocks_are_told_apart():
    tables = study_tables(["warmth"])
    tables.append(make_table({"w1": [1, 2], "w2": [2, 2]}, kinds={"w1": Kind.CROWD, "w2": Kind.CROWD}))
    text = said(content_of(tables, resamples=0))
    assert "In Letters, 7 conversations (of 8)" in text
    assert "In Main, 2 conversations of the dataset Old letters were rated by 2 crowd workers on 1 scale of" in text
    assert "The experts' value of an item is their median" in text
    only = said(content_of(tables, resamples=0, options=ReportOptions(block="main")))
    assert "Letters" not in only
    assert "expert" not in only.lower().replace("experts of", "")
    assert "Shown are only block: main." in only


def test_intervals_are_told_with_their_number_and_seed():
    text = said(content_of(study_tables()))
    assert "resamples items with all their ratings (50 resamples, seed 7)" in text
    assert "The intervals hold for these raters" in text


def test_without_intervals_none_are_told():
    text = said(content_of(study_tables(), resamples=0))
    assert "No intervals were computed." in text
    assert "bootstrap" not in text
    assert "percentile" not in text


def test_only_the_chosen_convention_is_told():
    scale, observed = said(content_of(study_tables())), said(content_of(study_tables(), options=OBSERVED))
    assert "(convention “scale”)" in scale
    assert "observed" not in scale
    assert "its variance if kappa is 0" in scale
    assert "(convention “observed”)" in observed
    assert "declared points" not in observed
    assert "its plain variance" in observed
    assert "Kumar, A., " in methods_text(content_of(study_tables(), options=OBSERVED))


def test_without_weighted_kappa_no_convention_is_told():
    text = said(content_of(study_tables(), resamples=0, options=ReportOptions(statistics=("mae", "alpha_interval"))))
    assert "convention" not in text.replace("Shown are only", "")
    assert "kappa" not in text
    assert "described by the mean absolute difference." in text
    assert "Krippendorff's alpha (interval)" in text
    assert "P-values" not in text


@pytest.mark.parametrize(
    ("parts", "present", "absent"),
    [
        (("pairs",), "Agreement between two sides", "among each other"),
        (("groups",), "of the raters of one kind among each other", "between two sides"),
    ],
)
def test_only_the_chosen_parts_are_told(parts, present, absent):
    text = said(content_of(study_tables(), resamples=0, options=ReportOptions(parts=parts)))
    assert present in text
    assert absent not in text


def test_retests_are_told_where_items_were_repeated():
    tables = [make_table({"e1": [1, 2, 4], "e2": [1, 3, 4]}, kinds=KINDS, repeats={"e1": [2, 2, None]})]
    text = said(content_of(tables, resamples=0))
    assert "6 ratings, and 2 second ratings of repeated items." in text
    assert "Raters who rated an item twice are compared with themselves" in text


def test_a_file_without_kinds():
    content = content_of(file_tables({"a": [1, 2, 3], "b": [1, 3, 3]}), of_study=False, resamples=0)
    text = said(content)
    assert (
        "The file ratings.csv holds 6 ratings of 3 items by 2 raters on one ordinal scale of 5 points called" in text
        or "on one ordinal scale of 5 points from 1 to 5" in text
    )
    assert "it does not say of what kind the raters are" in text
    assert "Agreement of all raters among each other" in text
    for claim in ("conversation", "expert", "model", "finished", "no part"):
        assert claim not in text


def test_nominal_scales():
    tables = [make_table({"e1": [1, 2, 1, 2], "e2": [1, 2, 2, 2]}, kinds=KINDS, level=Level.NOMINAL)]
    text = said(content_of(tables, resamples=0))
    assert "nominal scale of 5 points" in text
    assert "not defined for nominal scales (" in text


def test_what_is_undefined_is_counted_by_reason():
    content = content_of(study_tables(), resamples=0)
    text = said(content)
    undefined = [row for row in content.rows if row.value is None]
    assert f"{len(undefined):,} of {len(content.rows):,} figures are undefined" in text
    for reason in {row.reason for row in undefined}:
        count = sum(row.reason == reason for row in undefined)
        assert f"{reason} ({count:,})" in text


def test_where_everything_is_defined_it_says_so():
    content = content_of(study_tables(), resamples=0, options=ReportOptions(statistics=("mae",)))
    assert f"All {len(content.rows)} figures are defined." in said(content)


def test_exclusions_are_told_with_their_reasons():
    text = said(
        with_account(
            raters=(
                RaterAccount("e1", "expert", RaterUse.USED),
                RaterAccount("w1", "crowd", RaterUse.EXCLUDED, reason="rule"),
                RaterAccount("w2", "crowd", RaterUse.EXCLUDED, reason="rule"),
                RaterAccount("w3", "crowd", RaterUse.NOTHING_FINISHED),
            ),
            blocks=(BlockAccount("letters", 8, 7, (ItemsAccount(ItemUse.GOLD, 2, ("x", "y")),)),),
            ratings=RatingCounts(stored=50, drafts=4, cannot_tell=1, of_excluded_raters=10),
        )
    )
    assert "3 raters take no part: excluded, quality rule (2); no finished rating takes part (1)." in text
    assert (
        "Of 50 stored ratings 15 have no part: not handed in (4); “cannot tell” (1); of excluded raters (10)." in text
    )
    assert "Items without a part: gold (2)." in text


def test_without_exclusions_none_are_told():
    text = said(with_account())
    assert "no part" not in text
    assert "exclude" not in text


def test_a_selection_of_conversations_is_told():
    selection = DataSelection.of({"meta.topic": ["loss", "anger"]}, with_excluded=True)
    text = said(content_of(study_tables(["warmth"]), resamples=0, selection=selection))
    assert "Only conversations with these properties take part: meta.topic: anger or loss." in text
    assert "Raters and ratings that the study excludes take part all the same." in text


def test_simulated_ratings_are_called_so():
    text = said(with_account(raters=(RaterAccount("e1", "expert", RaterUse.USED, is_simulated=True),)))
    assert "The ratings of e1 are simulated." in text


@pytest.mark.parametrize(
    ("stars", "words"),
    [(Stars.ADJUSTED, "Stars mark adjusted p-values"), (Stars.RAW, "Stars mark raw p-values"), (Stars.NONE, None)],
)
def test_stars_are_told_as_chosen(stars, words):
    text = said(content_of(study_tables(), resamples=0, options=ReportOptions(stars=stars)))
    assert (words in text) if words else ("Stars" not in text)


def test_values_of_groups_are_explained_only_where_they_occur():
    without = said(
        content_of([make_table({"gpt": [1, 2], "llama": [2, 2]}, kinds=dict.fromkeys(("gpt", "llama"), Kind.LLM))])
    )
    assert "median" not in without
    assert "only without them" not in without
    workers = {f"w{number}": Kind.CROWD for number in range(4)}
    crowd = said(content_of([make_table({name: [1, 2, 3] for name in workers}, kinds=workers)], resamples=0))
    assert "The crowd's value of an item is the mean of its workers" in crowd
    assert "A rater is compared with their group only without them." in crowd


def test_software_and_data_are_named():
    content = content_of(study_tables(), resamples=0)
    text = said(content)
    assert "Computed with Accord 0.1.0, Python 3.11.7 and numpy 2.4.6" in text
    assert content.agreement.data_hash in text
    assert "recompute" not in text
    with_archive = replace(content, options=ReportOptions(formats=("csv", "zip")))
    assert "python manage.py recompute" in said(with_archive)


def test_each_reference_is_cited_and_each_citation_listed():
    for content in (content_of(study_tables()), content_of(study_tables(), options=OBSERVED)):
        paragraphs, references = methods_paragraphs(content)
        cited = {
            int(number) for group in re.findall(r"\[([\d, ]+)\]", " ".join(paragraphs)) for number in group.split(",")
        }
        assert cited == set(range(1, len(references) + 1))
        assert len(set(references)) == len(references)


def test_the_text_is_wrapped_and_ends_with_the_references():
    text = methods_text(content_of(study_tables()))
    assert max(len(line) for line in text.splitlines()) <= 96
    assert "\n\nReferences\n[1] Someone (2020). On care.\n[2] Cohen" in text


def test_a_report_without_rows_claims_nothing():
    text = said(content_of([], resamples=50))
    assert "No agreement could be described." in text
    assert "bootstrap" not in text
    assert "defined" not in text


def test_a_key_without_ratings_is_not_counted():
    """A framework that is not shown has no part in the counts."""
    tables = [
        *study_tables(["warmth"]),
        make_table({"e1": [1], "e2": [1]}, kinds=KINDS, key=TableKey("letters2", "x", "y")),
    ]
    text = said(content_of(tables, resamples=0, options=ReportOptions(framework="care")))
    assert "35 ratings" in text
    assert "Letters2" not in text
