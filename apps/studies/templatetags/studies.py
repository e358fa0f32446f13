"""What the pages of one study need of templates."""

from django import template

from apps.accounts.models import User
from apps.studies.models import Study
from apps.studies.services.blindness import may_see_ratings

register = template.Library()


@register.filter
def sees_ratings_of(user: User, study: Study) -> bool:
    """Whether the way to the ratings may be offered to the person."""
    return may_see_ratings(user=user, study=study)
