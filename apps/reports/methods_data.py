"""What was rated by whom, where it comes from, and what was left out, in sentences for a paper. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from apps.reliability.accounting import ItemUse, RaterAccount
from apps.reliability.labels import BlockLabel, FrameworkLabel, ScaleLabel
from apps.reliability.matrix import Kind, RaterKey
from apps.reports.contents import ReportContent
from apps.reports.coverage import Coverage, listed, raters_in_words
from apps.reports.sources import References
from apps.reports.wording import filter_text, rater_reason, ratings_left_out

# Values of annotation.services.recording.Origin.
_IMPORT, _MODEL = "import", "model"
# As many names as a sentence can hold.
_MOST_NAMES = 8
_PERSONS = {Kind.EXPERT, Kind.CROWD, Kind.SELF}

# A conversation: where its dataset is from, and its id there.
Conversation = tuple[tuple[str, str, str], str]


def data_sentences(content: ReportContent, found: Sequence[Coverage], references: References) -> Iterator[str]:
    """The paragraph on the data."""
    if content.description:
        yield f"The study's own description: “{' '.join(content.description.split()).rstrip('.')}.”"
    for designed in _designs(found).values():
        yield _design(content, designed, references, several=len(found) > 1)
    if not content.rows:
        yield "No agreement could be described."
    if content.study:
        yield from _distinct(content, found)
        yield from _datasets(content, found)
        yield from _origins(content, found)
    yield from selection_sentences(content)
    if content.study:
        yield "Only finished ratings enter the analysis; “cannot tell” is a missing value."
    yield from _left_out(content)
    if content.options.narrows:
        yield filter_text(content.options)


# --- Designs ------------------------------------------------------------------------------------------------------


def _designs(found: Sequence[Coverage]) -> dict[tuple[tuple[RaterKey, ...], str], list[Coverage]]:
    """Blocks that the same raters rated whole, which a sentence can tell of together; each other one by itself."""
    designs: dict[tuple[tuple[RaterKey, ...], str], list[Coverage]] = {}
    for one in found:
        designs.setdefault((one.raters, one.block if one.shares else ""), []).append(one)
    return designs


def _design(content: ReportContent, blocks: Sequence[Coverage], references: References, *, several: bool) -> str:
    if len(blocks) == 1:
        return _block(content, blocks[0], references, several=several)
    kinds = list(dict.fromkeys(_points(scale) for one in blocks for scale in _scales(content, one)))
    parts = [_in_brief(content, one, references, points=len(kinds) > 1) for one in blocks]
    every = f" Each scale is {_article(kinds[0])} {kinds[0]}." if len(kinds) == 1 else ""
    return f"In {len(blocks)} blocks the raters were {raters_in_words(blocks[0].raters)}: {'; '.join(parts)}.{every}"


def _in_brief(content: ReportContent, one: Coverage, references: References, *, points: bool) -> str:
    scales = _scales(content, one)
    on = _frameworks(scales, references, points=points)
    return f"{_title(scales[0].block)}, {_items(one)} on {on}, {one.ratings:,} ratings{_second(one)}"


def _block(content: ReportContent, one: Coverage, references: References, *, several: bool) -> str:
    scales = _scales(content, one)
    raters = raters_in_words(one.raters, one.shares)
    if not content.study:
        return (
            f"The file {content.ratings_file} holds {one.ratings:,} ratings of {_items(one)} by {raters} on "
            f"{_scales_of_file(scales)}; it does not say of what kind the raters are [say who they are and how they "
            "rated]."
        )
    block = scales[0].block
    where = f" of the dataset {block.dataset}" if block.dataset else ""
    # A block is named only where there are several.
    intro = f"In {_title(block)}, " if several else ""
    verb = "was" if one.rated == 1 else "were"
    what = f"{_items(one)}{where} {verb} rated by {raters} on {_frameworks(scales, references, points=True)}"
    return f"{intro}{what}: {one.ratings:,} ratings{_second(one)}."


def _scales(content: ReportContent, one: Coverage) -> list[ScaleLabel]:
    return [scale for scale in content.shown_scales if scale.block.slug == one.block]


def _title(block: BlockLabel) -> str:
    return block.title or block.slug


def _second(one: Coverage) -> str:
    return f", and {one.repeats:,} second ratings of repeated items" if one.repeats else ""


def _items(one: Coverage) -> str:
    noun = "conversation" if one.block else "item"
    text = f"{one.rated:,} {noun}{'' if one.rated == 1 else 's'}"
    return text if one.rated == one.items else f"{text} (of {one.items:,})"


def _scales_of_file(scales: Sequence[ScaleLabel]) -> str:
    if len(scales) == 1:
        return f"one {_points(scales[0])}"
    return f"{len(scales)} scales, each of them a {_points(scales[0])}"


def _points(scale: ScaleLabel) -> str:
    points = scale.dimension.points
    span = f"from {points[0].value:g} to {points[-1].value:g}"
    labelled = [point.text for point in points if point.text]
    if len(labelled) == len(points):
        span = f"called {', '.join(labelled)}"
    return f"{scale.dimension.level} scale of {len(points)} points {span}"


def _article(noun: str) -> str:
    return "an" if noun[:1] in "aeiou" else "a"


def _frameworks(scales: Sequence[ScaleLabel], references: References, *, points: bool) -> str:
    """Each framework with its version, its citation, how many scales were rated and, if asked for, their points."""
    found: dict[tuple[str, int], list[ScaleLabel]] = {}
    for scale in scales:
        found.setdefault((scale.framework.slug, scale.framework.version), []).append(scale)
    return listed([_framework(own[0].framework, own, references, points=points) for own in found.values()])


def _framework(framework: FrameworkLabel, scales: Sequence[ScaleLabel], references: References, *, points: bool) -> str:
    count = "1 scale" if len(scales) == 1 else f"{len(scales)} scales"
    cited = references.cite(framework.citation.strip())
    kinds = f" ({listed(list(dict.fromkeys(_points(scale) for scale in scales)))})" if points else ""
    return f"{count} of {framework.name}, version {framework.version}{cited}{kinds}"


# --- Where conversations and ratings come from --------------------------------------------------------------------


def conversations_of(content: ReportContent, found: Iterable[Coverage]) -> set[Conversation]:
    """The different ones: what several blocks rate of one dataset counts once."""
    return {one for block in found for one in _of_block(content, block)}


def conversations_by_rater(content: ReportContent, found: Iterable[Coverage]) -> dict[str, set[Conversation]]:
    """The different ones that each rater rated, by name of the rater."""
    own: dict[str, set[Conversation]] = {}
    for block in found:
        home = _home(content, block)
        for rater, names in block.by_rater.items():
            own.setdefault(rater, set()).update((home, name) for name in names)
    return own


def _of_block(content: ReportContent, one: Coverage) -> set[Conversation]:
    home = _home(content, one)
    return {(home, name) for name in one.names}


def _home(content: ReportContent, one: Coverage) -> tuple[str, str, str]:
    label = _scales(content, one)[0].block
    # Of a dataset without a name nobody can tell whether it is that of another block.
    return label.dataset or f"of {label.slug}", label.source, label.licence


def _distinct(content: ReportContent, found: Sequence[Coverage]) -> Iterator[str]:
    if len(found) < 2:
        return
    total = len(conversations_of(content, found))
    sets = [(_title(_scales(content, one)[0].block), _of_block(content, one)) for one in found]
    shared = [(a, b, len(x & y)) for (a, x), (b, y) in combinations(sets, 2) if x & y]
    if not shared:
        yield f"These are {total:,} different conversations; no two blocks share one."
        return
    said = "; ".join(f"{a} and {b} share {count:,}" for a, b, count in shared)
    yield f"These are {total:,} different conversations, since blocks share some: {said}."


def _datasets(content: ReportContent, found: Sequence[Coverage]) -> Iterator[str]:
    """The sources and licences that the datasets tell."""
    known: dict[str, dict[str, list[str]]] = {}
    for one in found:
        label = _scales(content, one)[0].block
        names = known.setdefault(label.source.strip(), {}).setdefault(label.licence.strip(), [])
        if label.dataset and label.dataset not in names:
            names.append(label.dataset)
    for source, licences in known.items():
        names = [name for some in licences.values() for name in some]
        which = f"the {'dataset' if len(names) == 1 else 'datasets'} {listed(names)}" if names else "the conversations"
        if len(licences) > 1:
            # Each dataset is named with its licence.
            which = "the conversations" if len(known) == 1 else "these conversations"
        yield f"Source of {which}: {'; '.join((source or '[add it]', *_licences(licences)))}."


def _licences(licences: Mapping[str, Sequence[str]]) -> list[str]:
    known = {text: names for text, names in licences.items() if text}
    if len(licences) == 1:
        return [f"licence: {text}" for text in known]
    parts = [f"{text} ({listed(list(names))})" if names else text for text, names in known.items()]
    return [f"licences: {', '.join(parts)}"] if parts else []


def shown_accounts(content: ReportContent, found: Iterable[Coverage]) -> list[RaterAccount]:
    """Of the raters who gave the ratings that are shown."""
    names = {rater.name for one in found for rater in one.raters}
    return [one for one in content.account.raters_used() if one.name in names]


def origin_in_brief(content: ReportContent, found: Sequence[Coverage]) -> str:
    """`, imported from elsewhere, partly simulated`: what a reader must know of where ratings come from."""
    ways = [_way(one) for one in shown_accounts(content, found)]
    parts = []
    if {"imported", "mixed"} & set(ways):
        parts.append("imported from elsewhere" if set(ways) == {"imported"} else "partly imported")
    if "simulated" in ways:
        parts.append("simulated" if set(ways) == {"simulated"} else "partly simulated")
    return "".join(f", {part}" for part in parts)


# Of one rater, and of several.
_SENTENCES = {
    "imported": ("imported", "imported"),
    "given": ("given in Accord", "given in Accord"),
    "asked": ("given by a model that Accord asked", "given by models that Accord asked"),
    "computed": ("computed in Accord by a rule, without a model", "computed in Accord by rules, without a model"),
    "mixed": ("partly given in Accord and partly imported",) * 2,
    "unknown": ("of an origin that is not recorded [say where they come from]",) * 2,
}


def _way(one: RaterAccount) -> str:
    """How a rater's ratings came."""
    if one.is_simulated:
        return "simulated"
    if not one.origins:
        return "unknown"
    if set(one.origins) == {_IMPORT}:
        return "imported"
    if _IMPORT in one.origins:
        return "mixed"
    if set(one.origins) != {_MODEL}:
        return "given"
    # A baseline rates on the way that models do, and asks none.
    return "computed" if one.kind == Kind.BASELINE else "asked"


def _origins(content: ReportContent, found: Sequence[Coverage]) -> Iterator[str]:
    accounts = shown_accounts(content, found)
    ways: dict[str, list[RaterAccount]] = {}
    for one in accounts:
        ways.setdefault(_way(one), []).append(one)
    if not accounts:
        yield "[Say where the ratings come from.]"
    for way, (of_one, of_several) in _SENTENCES.items():
        if own := ways.get(way):
            words = of_one if len(own) == 1 else of_several
            yield f"All ratings were {words}." if len(ways) == 1 else f"The ratings of {_who(own)} were {words}."
    if simulated := [one.name for one in ways.get("simulated", ())]:
        who = listed(simulated) if len(simulated) <= _MOST_NAMES else f"{len(simulated):,} raters"
        yield f"The ratings of {who} are simulated."
    brought = [*ways.get("imported", ()), *ways.get("mixed", ()), *ways.get("unknown", ())]
    yield from _sources(content, found, brought)
    yield from _to_add(brought, [one for one in accounts if not one.is_simulated])


def _who(accounts: Sequence[RaterAccount]) -> str:
    return raters_in_words(sorted((_key(one) for one in accounts), key=lambda rater: rater.order))


def _key(one: RaterAccount) -> RaterKey:
    return RaterKey(one.name, Kind(one.kind), one.is_aggregate)


def _sources(content: ReportContent, found: Sequence[Coverage], brought: Sequence[RaterAccount]) -> Iterator[str]:
    """What the study recorded of where imported ratings come from."""
    datasets = {_scales(content, one)[0].block.source for one in found}
    by_source: dict[str, list[str]] = {}
    for one in brought:
        if one.source:
            by_source.setdefault(one.source, []).append(one.name)
    parts = [
        f"{listed(names) if len(names) <= _MOST_NAMES else f'{len(names):,} raters'}, "
        f"{'as the conversations' if source in datasets else f'“{source}”'}"
        for source, names in by_source.items()
    ]
    if parts:
        yield f"Their recorded sources: {'; '.join(parts)}."


def _to_add(brought: Sequence[RaterAccount], accounts: Sequence[RaterAccount]) -> Iterator[str]:
    """Hints for what no study records."""
    kinds = {one.kind for one in brought}
    if Kind.LLM in kinds:
        yield "Models are named as in the data [add version, prompt and date of the models]."
    if any(one.kind == Kind.SELF and not one.is_aggregate for one in brought):
        yield "A rater of imported self-reports may stand for several people [say for how many]."
    if any(one.kind in _PERSONS for one in accounts):
        yield "[Add how the people who rated were recruited, instructed and paid.]"


# --- What was chosen and left out ---------------------------------------------------------------------------------


def selection_sentences(content: ReportContent) -> Iterator[str]:
    """Which conversations and ratings were chosen, where not the usual ones were."""
    selection = content.selection
    if selection.metadata:
        chosen = "; ".join(f"{name}: {' or '.join(values)}" for name, values in selection.metadata)
        yield f"Only conversations with these properties take part: {chosen}."
    if selection.with_excluded:
        yield "Raters and ratings that the study excludes take part all the same."


def _left_out(content: ReportContent) -> Iterator[str]:
    """Exclusions and everything else without a part, with the number and the reason."""
    account = content.account
    reasons: dict[str, int] = {}
    for rater in account.raters_not_used():
        reason = rater_reason(rater)
        reasons[reason] = reasons.get(reason, 0) + 1
    if reasons:
        total = sum(reasons.values())
        yield f"{total:,} {'rater takes' if total == 1 else 'raters take'} no part: {_counted(reasons)}."
    if left_out := ratings_left_out(account.ratings):
        total = sum(count for _reason, count in left_out)
        verb = "has" if total == 1 else "have"
        stored = f"{account.ratings.stored:,} stored ratings{of_the_whole_study(content)}"
        yield f"Of {stored} {total:,} {verb} no part: {_counted(dict(left_out))}."
    items: dict[str, int] = {}
    for block in account.blocks:
        for group in block.beside:
            if group.use is not ItemUse.REPEAT and content.options.block in ("", block.block):
                items[group.use.value] = items.get(group.use.value, 0) + group.n
    if items:
        yield f"Items without a part: {_counted(items)}."


def of_the_whole_study(content: ReportContent) -> str:
    """Ratings without a part are counted over the study: in a report of a part of it, that is said."""
    return " of the whole study" if content.options.block or content.options.framework else ""


def _counted(reasons: dict[str, int]) -> str:
    return "; ".join(f"{reason} ({count:,})" for reason, count in reasons.items())
