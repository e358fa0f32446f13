"""Datasets to look through, and one conversation to be read. For researchers and admins."""

import json
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest, researcher_required
from apps.common.htmx import render_page_or_partial
from apps.corpus.forms.search import ConversationSearchForm
from apps.corpus.models import Dataset, SpeakerRole
from apps.corpus.services.usage import drafts_of

DATASETS_ON_A_PAGE = 25
CONVERSATIONS_ON_A_PAGE = 50


@researcher_required
@require_safe
def dataset_list(request: PersonRequest) -> HttpResponse:
    datasets = Dataset.objects.visible_to(request.user).with_counts().select_related("owner")
    page = Paginator(datasets, DATASETS_ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "corpus/dataset_list.html", {"page_obj": page})


@researcher_required
@require_safe
def dataset_detail(request: PersonRequest, slug: str) -> HttpResponse:
    dataset = get_object_or_404(Dataset.objects.visible_to(request.user).select_related("owner"), slug=slug)
    search = ConversationSearchForm(request.GET)
    conversations = dataset.conversations.with_counts()
    sought = search.cleaned_data["q"] if search.is_valid() else ""
    if sought:
        conversations = conversations.matching(sought)
    page = Paginator(conversations, CONVERSATIONS_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "dataset": dataset,
        "can_edit": dataset.is_editable_by(request.user),
        "search": search,
        "drafts": drafts_of(user=request.user),
        "sought": sought,
        "page_obj": page,
        # Most files have neither: no empty columns.
        "has_titles": any(conversation.title for conversation in page),
        "has_languages": any(conversation.language for conversation in page),
    }
    return render_page_or_partial(request, "corpus/dataset.html", context, partial="conversations")


@researcher_required
@require_safe
def conversation_detail(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    dataset = get_object_or_404(Dataset.objects.visible_to(request.user), slug=slug)
    conversation = get_object_or_404(dataset.conversations, pk=pk)
    turns = list(conversation.turns.all())
    context = {
        "dataset": dataset,
        "can_edit": dataset.is_editable_by(request.user) and not dataset.is_frozen,
        "conversation": conversation,
        "turns": [turn for turn in turns if turn.role != SpeakerRole.SYSTEM],
        "system_turns": [turn for turn in turns if turn.role == SpeakerRole.SYSTEM],
        "metadata": [(name, _as_words(value)) for name, value in conversation.metadata.items()],
        "factors": conversation.factors.items(),
        "previous": conversation.previous(),
        "next": conversation.next(),
    }
    return render(request, "corpus/conversation.html", context)


def _as_words(value: Any) -> str:
    """A value of the metadata to be read: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
