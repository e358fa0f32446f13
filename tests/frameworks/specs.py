"""Framework texts and specs of the tests."""

from hypothesis import settings
from hypothesis import strategies as st

from apps.frameworks.scales import DimensionSpec, FrameworkSpec, PointSpec

# No deadline: the machine may be busy with other tests.
property_test = settings(max_examples=50, deadline=None)

SMALL = """\
slug: calm-scales
name: Calm scales
citation: Made up for the tests
url: https://example.org/calm
stem: Think of the whole conversation.
dimensions:
  - slug: calm
    label: Calm
    question: How calm is the supporter?
    guideline: Count the tone. Leave out the content.
    polarity: "+"
    points:
      - {value: 1, label: Not at all}
      - {value: 2}
      - {value: 3, label: Very}
    examples:
      low: Hurry up!
      high: We have time.
  - slug: kind
    label: Kind
    question: Which kind of reply is it?
    guideline: Choose one. Choose other when in doubt.
    level: nominal
    points:
      - {value: 1, label: Question}
      - {value: 2, label: Other}
"""


def changed(old: str, new: str, text: str = SMALL) -> str:
    """The text with one passage replaced; the passage must be there."""
    assert old in text
    return text.replace(old, new, 1)


letters = st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t")
words = st.text(letters, max_size=60).map(str.strip)
needed_words = words.map(lambda text: text or "words")
labels = st.text(st.characters(categories=["L", "Zs"]), max_size=20).map(lambda text: " ".join(text.split()))
slugs = st.from_regex(r"[a-z0-9]{1,8}([-_][a-z0-9]{1,5}){0,2}", fullmatch=True).filter(lambda slug: slug != "upload")


@st.composite
def point_lists(draw: st.DrawFn, *, labelled: bool) -> tuple[PointSpec, ...]:
    """Increasing points; each label is used once, and with `labelled` no point is without."""
    values = sorted(draw(st.sets(st.integers(-5000, 5000), min_size=2, max_size=9)))
    used: set[str] = set()
    points = []
    for number, value in enumerate(values):
        label = draw(labels)
        if label.casefold() in used or (labelled and not label):
            label = f"Category {number}" if labelled else ""
        used.add(label.casefold())
        points.append(PointSpec(value / 100, label))
    return tuple(points)


@st.composite
def dimension_specs(draw: st.DrawFn) -> DimensionSpec:
    level = draw(st.sampled_from(["ordinal", "nominal"]))
    return DimensionSpec(
        slug=draw(slugs),
        label=draw(needed_words),
        question=draw(needed_words),
        guideline=draw(needed_words),
        points=draw(point_lists(labelled=level == "nominal")),
        level=level,
        polarity="none" if level == "nominal" else draw(st.sampled_from(["+", "-", "none"])),
        example_low=draw(words),
        example_middle=draw(words),
        example_high=draw(words),
        source=draw(words),
    )


framework_specs = st.builds(
    FrameworkSpec,
    slug=slugs,
    name=needed_words,
    citation=needed_words,
    dimensions=st.lists(dimension_specs(), min_size=1, max_size=3, unique_by=lambda dimension: dimension.slug).map(
        tuple
    ),
    url=st.sampled_from(["", "https://example.org/a?b=c#d"]),
    description=words,
    stem=words,
    language=st.sampled_from(["en", "pt-BR", "zh-Hant-TW"]),
)
