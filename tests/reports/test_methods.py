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
from apps.reports.html_tables import data_table
from apps.reports.methods import methods_of, methods_text
from tests.reliability.conftest import make_table
from tests.reports.made import KINDS, OBSERVED, content_of, file_tables, study_tables


def said(content: ReportContent) -> str:
    """The long form."""
    return "\n".join(methods_of(content).long)


def used(name: str, kind: str, **facts) -> RaterAccount:
    return RaterAccount(name, kind, RaterUse.USED, **facts)


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
        (("pairs",), "Agreement between two sides", "with each other"),
        (("groups",), "of the raters of one kind with each other", "between two sides"),
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
    assert "Agreement of all raters with each other" in text
    assert "within each family of tests: one statistic, over all its scales and pairs" in text
    for claim in ("conversation", "expert", "model", "finished", "no part", "framework", "block"):
        assert claim not in text


def test_nominal_scales():
    tables = [make_table({"e1": [1, 2, 1, 2], "e2": [1, 2, 2, 2]}, kinds=KINDS, level=Level.NOMINAL)]
    methods = methods_of(content_of(tables, resamples=0))
    text = "\n".join(methods.long)
    assert "nominal scale of 5 points" in text
    for form in (methods.short, text):
        assert "unweighted kappa" in form
        assert "Krippendorff's alpha (nominal)" in form
        # What has no value for names of categories is not said to describe anything.
        for claim in ("quadratic", "Spearman", "Weighted kappa", "alpha (interval)", "Lin's"):
            assert claim not in form


def test_what_is_undefined_is_counted_in_the_report_and_not_in_the_paper():
    content = content_of(study_tables(), resamples=0)
    assert any(row.value is None for row in content.rows)
    text = said(content)
    assert "Statistics that are undefined are left out of averages." in text
    assert "figure" not in text
    defined = said(content_of(study_tables(), resamples=0, options=ReportOptions(statistics=("mae",))))
    assert "undefined" not in defined


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


def test_a_report_of_one_block_says_that_ratings_without_a_part_are_counted_over_the_study():
    content = with_account(ratings=RatingCounts(stored=50, drafts=4))
    part = replace(content, options=replace(content.options, block="letters"))
    assert "Of 50 stored ratings of the whole study 4 have no part: not handed in (4)." in said(part)
    assert "4 stored ratings of the whole study have no part in the analysis." in methods_of(part).short


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
    text = said(with_account(raters=(used("e1", "expert", is_simulated=True),)))
    assert "The ratings of e1 are simulated." in text
    assert "recruited" not in text


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
    licence = "(free software, GPL-3.0-or-later) [add where it can be had]"
    assert f"Computed with Accord 0.1.0 {licence}, Python 3.11.7 and numpy 2.4.6." in text
    assert content.agreement.data_hash in text
    assert "recompute" not in text
    with_archive = replace(content, options=ReportOptions(formats=("csv", "zip")))
    assert "python manage.py recompute" in said(with_archive)


def test_each_reference_is_cited_and_each_citation_listed():
    for content in (content_of(study_tables()), content_of(study_tables(), options=OBSERVED)):
        methods = methods_of(content)
        references, text = methods.references, " ".join((methods.short, *methods.long))
        cited = {int(number) for group in re.findall(r"\[([\d, ]+)\]", text) for number in group.split(",")}
        assert cited == set(range(1, len(references) + 1))
        assert len(set(references)) == len(references)


def test_the_text_is_wrapped_and_ends_with_the_references():
    text = methods_text(content_of(study_tables()))
    assert max(len(line) for line in text.splitlines()) <= 96
    assert text.startswith("Short form\n\n7 conversations were rated by ")
    assert text.count("\n\nLong form\n\n7 conversations (of 8) of the dataset Old letters") == 1
    assert "\n\nReferences\n[1] Someone (2020). On care.\n[2] Cohen" in text


def test_a_report_without_rows_claims_nothing():
    text = said(content_of([], resamples=50))
    assert "No agreement could be described." in text
    assert "bootstrap" not in text
    assert "undefined" not in text


def test_a_key_without_ratings_is_not_counted():
    """A framework that is not shown has no part in the counts."""
    tables = [
        *study_tables(["warmth"]),
        make_table({"e1": [1], "e2": [1]}, kinds=KINDS, key=TableKey("letters2", "x", "y")),
    ]
    text = said(content_of(tables, resamples=0, options=ReportOptions(framework="care")))
    assert "35 ratings" in text
    assert "Letters2" not in text


# --- Where the ratings come from ----------------------------------------------------------------------------------

IMPORTED, GIVEN, ASKED = ("import",), ("screen",), ("model",)


def test_ratings_given_in_accord_are_told_from_imported_ones():
    text = said(
        with_account(
            raters=(
                used("e1", "expert", origins=GIVEN),
                used("e2", "expert", origins=("import", "screen")),
                used("e3", "expert", origins=IMPORTED, source="paper.csv"),
                used("gpt", "llm", origins=ASKED),
                used("crowd", "crowd", is_aggregate=True, origins=IMPORTED, source="Somebody (2021)"),
            )
        )
    )
    assert "The ratings of 1 expert were given in Accord." in text
    assert "The ratings of 1 expert were partly given in Accord and partly imported." in text
    assert "The ratings of 1 language model (gpt) were given by a model that Accord asked." in text
    assert "baseline" not in text
    assert "ratings of 1 expert and 1 imported aggregate of crowd workers (crowd) were imported." in text
    assert "Their recorded sources: e3, “paper.csv”; crowd, “Somebody (2021)”." in text
    assert "Models are named as in the data" not in text
    assert "[Add how the people who rated were recruited, instructed and paid.]" in text


def test_baselines_are_computed_and_not_given_by_models():
    def content(*raters: RaterAccount) -> ReportContent:
        kinds = {one.name: Kind(one.kind) for one in raters}
        table = make_table({name: [1, 2, 3] for name in kinds}, kinds=kinds)
        return content_of([table], resamples=0, account=Account(raters=raters))

    models = [used(name, "llm", origins=ASKED) for name in ("claude", "gpt")]
    baselines = [used(name, "baseline", origins=ASKED) for name in ("constant", "lexical")]
    both = said(content(*models, *baselines))
    assert "The ratings of 2 language models (claude, gpt) were given by models that Accord asked." in both
    assert "The ratings of 2 baselines (constant, lexical) were computed in Accord by rules, without a model." in both
    one = said(content(models[0], baselines[0]))
    assert "The ratings of 1 baseline (constant) were computed in Accord by a rule, without a model." in one
    only = said(content(*baselines))
    assert "All ratings were computed in Accord by rules, without a model." in only
    assert "that Accord asked" not in only
    imported = said(content(used("constant", "baseline", origins=IMPORTED)))
    assert "All ratings were imported." in imported


def test_all_of_one_origin_are_told_at_once():
    imported = with_account(raters=(used("e1", "expert", origins=IMPORTED), used("gpt", "llm", origins=IMPORTED)))
    assert "All ratings were imported." in said(imported)
    assert "ratings, imported from elsewhere)" in methods_of(imported).short
    assert "Models are named as in the data [add version, prompt and date of the models]." in said(imported)
    given = with_account(raters=(used("e1", "expert", origins=GIVEN),))
    assert "All ratings were given in Accord." in said(given)
    assert "import" not in methods_of(given).short.replace("imported aggregate", "")


def test_the_short_form_hides_no_simulation_and_no_choice():
    simulated, imported = used("e1", "expert", is_simulated=True), used("gpt", "llm", origins=IMPORTED)
    assert "(35 ratings, simulated)" in methods_of(with_account(raters=(simulated,))).short
    both = with_account(raters=(simulated, imported))
    assert "(35 ratings, partly imported, partly simulated)" in methods_of(both).short
    selection = DataSelection.of({"meta.topic": ["loss"]}, with_excluded=True)
    short = methods_of(content_of(study_tables(["warmth"]), resamples=0, selection=selection)).short
    assert "Only conversations with these properties take part: meta.topic: loss." in short
    assert "Raters and ratings that the study excludes take part all the same." in short
    excluded = RaterAccount("w1", "crowd", RaterUse.EXCLUDED, reason="rule")
    counts = RatingCounts(stored=50, drafts=4)
    left_out = with_account(raters=(excluded,), ratings=counts)
    assert "1 rater and 4 stored ratings have no part in the analysis." in methods_of(left_out).short


def test_an_origin_that_nobody_recorded_is_asked_for():
    text = said(with_account(raters=(used("e1", "expert"),)))
    assert "All ratings were of an origin that is not recorded [say where they come from]." in text
    assert "[Say where the ratings come from.]" in said(with_account())


def test_the_source_of_the_conversations_is_named_or_asked_for():
    content = content_of(study_tables(["warmth"]), resamples=0)
    assert "Source of the dataset Old letters: [add it]." in said(content)
    [scale] = content.scales
    known = replace(scale, block=replace(scale.block, source="Archive of letters", licence="CC BY 4.0"))
    text = said(replace(content, scales=(known,)))
    assert "Source of the dataset Old letters: Archive of letters; licence: CC BY 4.0." in text


def test_the_study_is_described_in_its_own_words():
    content = content_of(study_tables(["warmth"]), resamples=0, description="Letters\nby mourners.")
    assert said(content).startswith("The study's own description: “Letters by mourners.” 7 conversations")
    assert "description" not in said(content_of(study_tables(["warmth"]), resamples=0))


def test_self_reports_are_no_number_of_persons():
    tables = [make_table({"self": [1, 2, 3], "e1": [1, 2, 2]}, kinds={"self": Kind.SELF, "e1": Kind.EXPERT})]
    account = Account(raters=(used("self", "self", origins=IMPORTED), used("e1", "expert", origins=IMPORTED)))
    text = said(content_of(tables, resamples=0, account=account))
    assert "rated by 1 expert and self-reports (one rater in the data) on" in text
    assert "A rater of imported self-reports may stand for several people [say for how many]." in text


# --- Who rated how many --------------------------------------------------------------------------------------------


def of_different_numbers(block: str = "letters", **more: list):
    """Three experts and a model rated six conversations, another model three of them."""
    rows = [1, 2, 3, 4, 5, 1]
    columns = dict.fromkeys(("e1", "e2", "e3", "gpt"), rows) | {"local": [1, 2, 4, None, None, None]} | more
    kinds = KINDS | {"local": Kind.LLM, "w1": Kind.CROWD, "w2": Kind.CROWD, "self": Kind.SELF}
    return make_table(columns, kinds=kinds, key=TableKey(block, "care", "warmth"))


def test_raters_of_different_numbers_of_conversations_are_told_with_them():
    content = content_of([of_different_numbers()], resamples=0)
    who = "3 experts and 2 language models (gpt: 6, local: 3 conversations)"
    assert f"6 conversations of the dataset Old letters were rated by {who} on" in said(content)
    assert methods_of(content).short.startswith(f"6 conversations were rated by {who} on")
    assert data_table(content).rows[0][2] == who


def test_workers_and_selves_are_told_by_how_many_they_rated():
    workers = {"w1": [1, 2, None, None, None, None], "w2": [None, 1, 2, 3, None, None], "self": [1] + [None] * 5}
    text = said(content_of([of_different_numbers(**workers)], resamples=0))
    assert "2 crowd workers (2 to 3 conversations each)" in text
    assert "self-reports (one rater in the data, 1 conversation)" in text


def test_raters_of_the_same_number_of_other_conversations_are_told_with_it():
    halves = make_table({"e1": [1, 2, None, None], "e2": [None, None, 1, 2]}, kinds=KINDS)
    assert "4 conversations were rated by 2 experts (2 conversations each)" in methods_of(content_of([halves])).short


def test_raters_who_rated_everything_are_told_without_numbers():
    assert "each)" not in said(content_of(study_tables()))
    assert "gpt)" in said(content_of(study_tables()))


def test_blocks_are_counted_one_by_one_where_not_every_rater_rated_all():
    tables = [of_different_numbers("one"), of_different_numbers("two"), in_block("three", 4), in_block("four", 4)]
    text = said(content_of(tables, resamples=0))
    assert "In One, 6 conversations" in text
    assert "In Two, 6 conversations" in text
    assert "In 2 blocks the raters were 2 experts: Three, 4 conversations" in text
    file = content_of(file_tables({"a": [1, 2, 3], "b": [1, 3, None]}), of_study=False, resamples=0)
    assert methods_of(file).short.startswith("3 items were rated by 2 raters (2 to 3 items each) on one scale")


# --- Blocks -------------------------------------------------------------------------------------------------------


def in_block(block: str, n_items: int, start: int = 0):
    columns = {name: [1 + (place + shift) % 5 for place in range(n_items)] for shift, name in enumerate(("e1", "e2"))}
    made = make_table(columns, kinds=KINDS, key=TableKey(block, "care", "warmth"))
    return replace(made, items=tuple(f"c{start + place}" for place in range(n_items)))


def test_blocks_of_one_design_are_told_together_and_shared_conversations_once():
    content = content_of([in_block("one", 4), in_block("two", 6, start=2)], resamples=0)
    text = said(content)
    assert text.startswith(
        "In 2 blocks the raters were 2 experts: One, 4 conversations on 1 scale of Care Scales, version 2 [1], "
        "8 ratings; Two, 6 conversations on 1 scale of Care Scales, version 2 [1], 12 ratings. Each scale is an "
        "ordinal scale of 5 points from 1 to 5."
    )
    assert "These are 8 different conversations, since blocks share some: One and Two share 2." in text
    short = methods_of(content).short
    assert short.startswith("8 conversations were rated by 2 experts on 1 scale of Care Scales [1] (20 ratings).")
    assert "not every rater" not in short


def test_blocks_that_share_nothing_are_said_to():
    text = said(content_of([in_block("one", 4), in_block("two", 6, start=4)], resamples=0))
    assert "These are 10 different conversations; no two blocks share one." in text
    assert "different conversations" not in said(content_of([in_block("one", 4)], resamples=0))


# --- Sides and tests ----------------------------------------------------------------------------------------------


def test_the_crowd_is_told_as_it_is():
    imported = said(content_of(study_tables(), resamples=0))
    assert "The crowd is one imported aggregate (crowd), compared as imported." in imported
    assert "mean of its workers" not in imported
    workers = {f"w{number}": Kind.CROWD for number in range(3)}
    apart = make_table({name: [1, 2, 3] for name in workers}, kinds=workers, key=TableKey("workers", "care", "warmth"))
    both = said(content_of([*study_tables(["warmth"]), apart], resamples=0))
    assert "Where crowd workers are single raters, the crowd's value of an item is the mean of its workers" in both
    assert "Elsewhere the crowd is one imported aggregate (crowd), compared as imported." in both


def test_lin_is_cited_where_values_lie_between_points():
    assert "Lin's concordance correlation coefficient [" in said(content_of(study_tables()))
    assert "Lin's" not in said(content_of(study_tables(), options=OBSERVED))
    pair = {"gpt": [1, 2, 4], "claude": [1, 3, 4]}
    on_points = [make_table(pair, kinds={"gpt": Kind.LLM, "claude": Kind.LLM})]
    text = said(content_of(on_points, resamples=0))
    assert "quadratic weighted kappa" in text
    assert "Lin's" not in text


def test_tests_of_rank_correlations_are_described_where_there_are_some():
    text = said(content_of(study_tables(), resamples=0))
    assert "Student's t distribution with n - 2 degrees of freedom" in text
    assert "Kendall's tau-b is tested against 0" in text
    assert "adjusted by the false discovery rate procedure of Benjamini and Hochberg [" in text
    assert "within each family of tests: one statistic in one framework of one block" in text
    only_kappa = said(content_of(study_tables(), resamples=0, options=ReportOptions(statistics=("kappa_quadratic",))))
    assert "Student" not in only_kappa
    assert "Kendall" not in only_kappa


# --- The short form -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lambda: content_of(study_tables()), (90, 180)),
        (lambda: content_of(study_tables(), options=OBSERVED, resamples=0), (80, 180)),
        (lambda: content_of(file_tables({"a": [1, 2, 3], "b": [1, 3, 3]}), of_study=False), (40, 180)),
    ],
)
def test_the_short_form_is_short(content, words):
    low, high = words
    assert low <= len(methods_of(content()).short.split()) <= high


def test_the_short_form_claims_no_more_than_the_long_one():
    short = methods_of(content_of(study_tables(), resamples=0)).short
    assert "No intervals were computed." in short
    assert "bootstrap" not in short
    assert "Where experts rated, their agreement with each other is the benchmark" in short
    file = methods_of(content_of(file_tables({"a": [1, 2, 3], "b": [1, 3, 3]}), of_study=False, resamples=0)).short
    assert file.startswith("3 items were rated by 2 raters on one scale (6 ratings). [Say who the raters are")
    assert "expert" not in file
    assert methods_of(content_of([])).short == "No agreement could be described."
