"""What `reports/_figure.html` needs: the pictures of a figure, and its table."""

from django import template
from django.utils.safestring import SafeString

from apps.reports.figures.figure import Figure, slug_of
from apps.reports.figures.render import svg_of

register = template.Library()


@register.simple_tag
def figure_id(figure: Figure, place: str = "") -> str:
    """`place` tells apart two figures of one name on a page."""
    return slug_of("figure", figure.name, place)


@register.simple_tag
def figure_svg(figure: Figure, side: str, place: str = "") -> SafeString:
    """The picture for a wide place, or for a narrow one."""
    return svg_of(figure, narrow=side == "narrow", place=place)


@register.filter
def in_one_column(address: str) -> str:
    """The address of the same file at the width of one column, 90 mm."""
    return f"{address}{'&' if '?' in address else '?'}width=90"


@register.filter
def figure_table(figure: Figure) -> list[tuple[str, list[tuple[str, bool]]]]:
    """Each row with its address or an empty text, and its cells, each with whether it is a number."""
    links = figure.row_links or ("",) * len(figure.rows)
    return [
        (link, [(cell, number in figure.numeric_columns) for number, cell in enumerate(row)])
        for link, row in zip(links, figure.rows, strict=True)
    ]


@register.filter
def figure_columns(figure: Figure) -> list[tuple[str, bool]]:
    return [(column, number in figure.numeric_columns) for number, column in enumerate(figure.columns)]
