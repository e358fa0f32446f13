"""How an item was rated, rater beside rater: for those who work with the study, and for its raters in discussion.

Nothing here changes anything.
"""

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.annotation.services.discussed_items import items_in_sight, place_of, rows_of
from apps.annotation.services.item_ratings import load_item_ratings
from apps.common.htmx import render_page_or_partial
from apps.studies.models import Assignment, Item, Study
from apps.studies.services.blindness import Sight, sight_of

ITEMS_ON_A_PAGE = 25


@require_safe
@login_required
def items(request: PersonRequest, slug: str) -> HttpResponse:
    study = get_object_or_404(Study.objects.visible_to(request.user), slug=slug)
    sight = sight_of(user=request.user, study=study)
    if sight is None:
        return _hidden(request, study)
    blocks = list(study.blocks.order_by("position")) if sight.is_whole else []
    block = _block_named(request, sight)
    if block:
        get_object_or_404(study.blocks.all(), slug=block)
    page = Paginator(items_in_sight(sight=sight, block=block), ITEMS_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "sight": sight,
        "is_managed": study.is_managed_by(request.user),
        "blocks": blocks,
        "chosen_block": block,
        "page_obj": page,
        "rows": rows_of(sight=sight, items=list(page)),
    }
    return render_page_or_partial(request, "annotation/item_list.html", context, partial="item-list")


@require_safe
@login_required
def item_ratings(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    """A rater is told why an item they know is hidden from them; any other is not there."""
    study = get_object_or_404(Study.objects.visible_to(request.user), slug=slug)
    sight = sight_of(user=request.user, study=study)
    item = items_in_sight(sight=sight).filter(pk=pk).first() if sight else None
    if sight is None or item is None:
        if (sight and sight.is_whole) or not _is_known(request, study, pk):
            raise Http404
        return _hidden(request, study)
    block = _block_named(request, sight)
    if block != item.block.slug:
        block = ""  # the way on is through all blocks
    context = {
        "study": study,
        "sight": sight,
        "is_managed": study.is_managed_by(request.user),
        "item": item,
        "chosen_block": block,
        "place": place_of(sight=sight, item=item, block=block),
        "ratings": load_item_ratings(sight=sight, item=item, page=request.GET.get("page")),
        "is_paging": "page" in request.GET,
    }
    return render_page_or_partial(request, "annotation/item_ratings.html", context, partial="crowd")


def _block_named(request: PersonRequest, sight: Sight) -> str:
    """Raters are not told the blocks, so they cannot choose one."""
    return request.GET.get("block", "") if sight.is_whole else ""


def _is_known(request: PersonRequest, study: Study, pk: int) -> bool:
    """Whether the person knows that the item is there: from the design, or because it was given to them."""
    if study.is_readable_by(request.user):
        return Item.objects.filter(block__study=study, pk=pk).exists()
    own = Assignment.objects.filter(rater__study=study, rater__user=request.user, rater__left_at=None)
    return own.filter(item=pk).exists()


def _hidden(request: PersonRequest, study: Study) -> HttpResponse:
    works_with_it = study.is_readable_by(request.user)
    if works_with_it and not study.discussion_open:
        words = gettext(
            "You rate in this study, so its ratings are hidden from you until discussion is open or you give up rating."
        )
    elif study.discussion_open:
        words = gettext(
            "Discussion is open: you see how others rated a conversation once you have submitted it yourself."
        )
    else:
        words = gettext(
            "Ratings are hidden from you until discussion is open: nobody who rates sees another rater's answers."
        )
    context = {"study": study, "words": words, "works_with_it": works_with_it}
    return render(request, "annotation/items_hidden.html", context, status=403)
