"""Conversations written, changed and deleted in the browser.

The form is sent whole by every button. Those that add, move or take away a row show it again with the change done;
only the one that saves checks it.
"""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from apps.accounts.access import PersonRequest, researcher_required
from apps.corpus.draft import ConversationDraft, acted, draft_of, is_too_large, new_draft, posted_draft, restored
from apps.corpus.forms.editing import TypeToDeleteForm
from apps.corpus.forms.writing import ConversationEditor, without_blank_pairs
from apps.corpus.models import Conversation, Dataset
from apps.corpus.services.freezing import DatasetFrozenError
from apps.corpus.services.usage import usage_of_conversation, usage_of_dataset
from apps.corpus.services.writing import (
    ChangedMeanwhileError,
    ConversationInUseError,
    IdTakenError,
    Outcome,
    Saved,
    add_conversation,
    change_conversation,
    delete_conversation,
    stored_record,
    suggested_id,
)

SAVING = ("save", "save-another")


@researcher_required
@require_http_methods(["GET", "HEAD", "POST"])
def conversation_new(request: PersonRequest, slug: str) -> HttpResponse:
    dataset = _editable_dataset(request, slug)
    if request.method != "POST":
        if dataset.is_frozen:
            return _frozen(request, dataset)
        last = dataset.conversations.order_by("-position").values_list("language", flat=True).first()
        return _page(request, dataset, ConversationEditor(new_draft(suggested_id(dataset=dataset), last or "")))
    draft = _posted(request)
    if _act(request) not in SAVING:
        return _page(request, dataset, ConversationEditor(acted(draft, _act(request))))
    editor = ConversationEditor(without_blank_pairs(draft), check=True)
    if editor.is_valid():
        try:
            saved = add_conversation(dataset=dataset, record=editor.record(), actor=request.user)
        except IdTakenError as error:
            editor.add_error("external_id", str(error))
        except DatasetFrozenError as error:
            editor.add_error(None, str(error))
        else:
            return _saved(request, saved)
    return _page(request, dataset, editor, status=422)


@researcher_required
@require_http_methods(["GET", "HEAD", "POST"])
def conversation_edit(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    dataset = _editable_dataset(request, slug)
    conversation: Conversation = get_object_or_404(dataset.conversations, pk=pk)
    stored = stored_record(conversation)
    if request.method != "POST":
        if dataset.is_frozen:
            return _frozen(request, dataset, conversation)
        if conversation.is_rated or is_too_large(stored):
            context = {"dataset": dataset, "conversation": conversation, "is_rated": conversation.is_rated}
            return render(request, "corpus/conversation_fixed.html", context)
        return _page(request, dataset, ConversationEditor(draft_of(stored, conversation.revision)), conversation)
    draft = restored(_posted(request), stored)
    if _act(request) not in SAVING:
        editor = ConversationEditor(acted(draft, _act(request)), stored=stored)
        return _page(request, dataset, editor, conversation)
    editor = ConversationEditor(without_blank_pairs(draft), stored=stored, check=True)
    if editor.is_valid():
        try:
            saved = change_conversation(
                conversation=conversation, record=editor.record(), seen=draft.revision, actor=request.user
            )
        except ChangedMeanwhileError:
            # Pressing the button again is a decision now: the form that comes back has seen what is stored.
            editor = ConversationEditor(draft.having_seen(conversation.revision), stored=stored)
            return _page(request, dataset, editor, conversation, status=409, others=stored)
        except IdTakenError as error:
            editor.add_error("external_id", str(error))
        except (DatasetFrozenError, ConversationInUseError) as error:
            editor.add_error(None, str(error))
        else:
            return _saved(request, saved)
    return _page(request, dataset, editor, conversation, status=422)


@researcher_required
@require_http_methods(["GET", "HEAD", "POST"])
def conversation_delete(request: PersonRequest, slug: str, pk: int) -> HttpResponse:
    dataset = _editable_dataset(request, slug)
    conversation: Conversation = get_object_or_404(dataset.conversations.with_counts(), pk=pk)
    if request.method != "POST" and dataset.is_frozen:
        return _frozen(request, dataset, conversation)
    form = TypeToDeleteForm(request.POST or None, thing=conversation)
    if request.method == "POST" and form.is_valid():
        try:
            delete_conversation(conversation=conversation, actor=request.user)
        except (DatasetFrozenError, ConversationInUseError) as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, _("The conversation %(id)s is deleted.") % {"id": conversation.external_id})
            return redirect("corpus:dataset", slug)
    context = {
        "form": form,
        "dataset": dataset,
        "conversation": conversation,
        "usage": usage_of_conversation(conversation=conversation, user=request.user),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "corpus/conversation_delete.html", context, status=status)


def _editable_dataset(request: PersonRequest, slug: str) -> Dataset:
    return get_object_or_404(Dataset.objects.editable_by(request.user), slug=slug)


def _posted(request: PersonRequest) -> ConversationDraft:
    data: QueryDict = request.POST
    return posted_draft((name, value) for name, values in data.lists() for value in values)


def _act(request: PersonRequest) -> str:
    return str(request.POST.get("act", "save"))


def _saved(request: PersonRequest, saved: Saved) -> HttpResponse:
    conversation = saved.conversation
    said = {
        Outcome.ADDED: _("The conversation %(id)s is added."),
        Outcome.CHANGED: _("The conversation %(id)s is saved."),
        Outcome.UNCHANGED: _("Nothing has changed."),
    }
    messages.success(request, said[saved.outcome] % {"id": conversation.external_id})
    if saved.twins:
        same = _("It has the same content as %(others)s.") % {"others": ", ".join(saved.twins)}
        messages.warning(request, same)
    if _act(request) == "save-another":
        return redirect("corpus:conversation-new", conversation.dataset.slug)
    return redirect("corpus:conversation", conversation.dataset.slug, conversation.pk)


def _frozen(request: PersonRequest, dataset: Dataset, conversation: Conversation | None = None) -> HttpResponse:
    usage = usage_of_dataset(dataset=dataset, user=request.user)
    context = {"dataset": dataset, "conversation": conversation, "usage": usage}
    return render(request, "corpus/dataset_frozen.html", context)


def _page(
    request: PersonRequest,
    dataset: Dataset,
    editor: ConversationEditor,
    conversation: Conversation | None = None,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    context |= {"dataset": dataset, "conversation": conversation, "editor": editor, "is_unsaved": _is_unsaved(request)}
    return render(request, "corpus/conversation_form.html", context, status=status)


def _is_unsaved(request: PersonRequest) -> bool:
    """Whether the page holds something typed that is stored nowhere."""
    return request.method == "POST"
