"""Words that are addresses of their own where a slug could stand: `/studies/new/` is a page, never a study."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

RESERVED_SLUGS = frozenset(
    {
        "add",
        "all",
        "copy",
        "edit",
        "figures",
        "import",
        "mappings",
        "new",
        "preview",
        "profiles",
        "raters",
        "search",
        "upload",
        "uploads",
    }
)


def validate_not_reserved(slug: str) -> None:
    """For forms. Raises ValidationError for a word that a page of the site has."""
    if slug in RESERVED_SLUGS:
        raise ValidationError(
            _("“%(slug)s” is the name of a page of this site. Choose another."), code="reserved", params={"slug": slug}
        )
