"""Markdown from people, made into HTML that is safe to show and fits into a page. Pure."""

from functools import cache
from html import escape

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

DEEPEST_HEADING = 6
TAGS = {
    "a", "blockquote", "br", "code", "em", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
LINKS = {"http", "https", "mailto", "tel"}


def render_markdown(text: str, *, top: int = 2) -> str:
    """HTML of `text`: CommonMark with tables and struck-out words; a line break in the text is one on the page.

    HTML in the text is shown as text, an image as its description, and of links only those to the web, mail and
    telephones remain. Headings are nested from level `top` (2 to 6) on without gaps, whatever levels the text has: they
    stand below the page's own.
    """
    parser = _parser()
    tokens = parser.parse(text)
    _nest_headings(tokens, top)
    html = parser.renderer.render(tokens, parser.options, {})
    # The parser lets no tag of the writer's through; this holds it to that, and marks the links.
    return nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, url_schemes=LINKS, link_rel="noopener noreferrer")


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _description)
    return parser


def _description(renderer: object, tokens: list[Token], index: int, options: object, env: object) -> str:
    """An image's words in its place: pictures from elsewhere would tell a stranger who reads here."""
    return escape(tokens[index].content)


def _nest_headings(tokens: list[Token], top: int) -> None:
    above: list[int] = []
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            while above and above[-1] >= level:
                above.pop()
            tag = f"h{min(top + len(above), DEEPEST_HEADING)}"
            above.append(level)
        if token.type in ("heading_open", "heading_close"):
            token.tag = tag
