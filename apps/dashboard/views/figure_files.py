"""A figure as a file: `?width=90` for one column of a page, else 180 mm."""

from django.http import Http404, HttpRequest, HttpResponse

from apps.reports.figures.figure import Figure
from apps.reports.figures.render import png_of, svg_of

TYPES = {"svg": "image/svg+xml", "png": "image/png"}
NARROW = "90"


def figure_file(request: HttpRequest, figure: Figure | None, form: str, name: str) -> HttpResponse:
    """`form`: one of TYPES. Raises Http404 where there is no figure."""
    if figure is None:
        raise Http404
    narrow = request.GET.get("width") == NARROW
    content = svg_of(figure, narrow=narrow).encode() if form == "svg" else png_of(figure, narrow=narrow)
    response = HttpResponse(content, content_type=TYPES[form])
    ascii_name = name.encode("ascii", "ignore").decode()
    response["Content-Disposition"] = f'attachment; filename="{ascii_name}{"-90mm" if narrow else ""}.{form}"'
    return response
