"""Who may see ratings: nobody who still gives them sees another rater's, until discussion is open (DESIGN.md, 5)."""

from apps.accounts.models import User
from apps.studies.models import Study


def may_see_ratings(*, user: User, study: Study) -> bool:
    """Whether a person may see other raters' values, and any figure made from them.

    Owners, researchers and admins may, unless they rate in the study themselves: then not before discussion is open
    or they have left it as a rater. Sealed model scores are no matter here: the seal hides them from raters, and
    whoever may see ratings at all works with every rater's.
    """
    if not study.is_readable_by(user):
        return False
    return study.discussion_open or not study.raters.filter(user=user, left_at=None).exists()
