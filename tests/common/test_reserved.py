"""Slugs that pages of the site have."""

import pytest
from django.core.exceptions import ValidationError

from apps.common.reserved import RESERVED_SLUGS, validate_not_reserved


@pytest.mark.parametrize("slug", sorted(RESERVED_SLUGS))
def test_the_name_of_a_page_is_refused(slug):
    with pytest.raises(ValidationError, match=f"“{slug}” is the name of a page"):
        validate_not_reserved(slug)


def test_any_other_slug_is_fine():
    validate_not_reserved("newcomers")
