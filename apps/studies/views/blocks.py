"""The blocks of a study: laid out, changed, put in order, taken away."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access import PersonRequest
from apps.accounts.models import User
from apps.common.htmx import render_page_or_partial
from apps.corpus.models import Dataset, DatasetQuerySet
from apps.frameworks.models import Framework
from apps.studies.access import managed_study
from apps.studies.allocation import AllocationError
from apps.studies.forms.blocks import BlockForm, GroupsForm
from apps.studies.forms.setup import TypedNameForm
from apps.studies.models import Block, Study, StudyStatus
from apps.studies.services.design import (
    DesignError,
    add_block,
    change_block,
    change_who_rates,
    move_block,
    remove_block,
)
from apps.studies.services.selecting import select_conversations, traits_of

DATASETS_ON_A_PAGE = 25
SHOWS_AND_TAKES = require_http_methods(["GET", "HEAD", "POST"])


@login_required
@SHOWS_AND_TAKES
def block_new(request: PersonRequest, slug: str) -> HttpResponse:
    """First the dataset (`?dataset=`), then the rest: what one can choose by depends on it."""
    study = managed_study(request.user, slug)
    if study.status != StudyStatus.DRAFT:
        messages.error(request, _("Blocks can only be added while the study is a draft."))
        return redirect("studies:overview", slug=slug)
    chosen = request.GET.get("dataset")
    if not chosen:
        return _choose_dataset(request, study)
    dataset = get_object_or_404(_offered(request.user, study), slug=chosen)
    form = _block_form(request, study, dataset)
    if request.method == "POST" and form.is_valid() and "preview" not in request.POST:
        try:
            block = add_block(study=study, dataset=dataset, actor=request.user, **form.plan())
        except DesignError as problem:
            form.add_error(None, str(problem))
        else:
            n_items = block.items.count()
            told = ngettext("Block added: %(n)d conversation.", "Block added: %(n)d conversations.", n_items)
            messages.success(request, told % {"n": n_items})
            return redirect("studies:overview", slug=slug)
    return _block_page(request, study, dataset, form)


@login_required
@SHOWS_AND_TAKES
def block(request: PersonRequest, slug: str, block_slug: str) -> HttpResponse:
    """Everything of a block while it is a draft's and nobody has begun it; later its title and who rates."""
    study = managed_study(request.user, slug)
    found = _block_of(study, block_slug)
    if study.status != StudyStatus.DRAFT or study.blocks.begun().filter(pk=found.pk).exists():
        return _change_who_rates(request, study, found)
    dataset = _dataset_asked(request, found)
    form = _block_form(request, study, dataset, found)
    if request.method == "POST" and form.is_valid() and "preview" not in request.POST:
        try:
            change_block(block=found, dataset=dataset, by=request.user, **form.plan())
        except DesignError as problem:
            form.add_error(None, str(problem))
        else:
            n_items = found.items.count()
            told = ngettext(
                "%(block)s is laid out anew: %(n)d conversation.",
                "%(block)s is laid out anew: %(n)d conversations.",
                n_items,
            )
            messages.success(request, told % {"block": form.cleaned_data["title"], "n": n_items})
            return redirect("studies:overview", slug=slug)
    return _block_page(request, study, dataset, form, found)


@login_required
@SHOWS_AND_TAKES
def block_remove(request: PersonRequest, slug: str, block_slug: str) -> HttpResponse:
    study = managed_study(request.user, slug)
    found = _block_of(study, block_slug)
    form = TypedNameForm(request.POST or None, name=found.slug)
    if request.method == "POST" and form.is_valid():
        try:
            remove_block(block=found, by=request.user)
        except DesignError as problem:
            form.add_error(None, str(problem))
        else:
            messages.success(request, _("The block %(block)s is removed.") % {"block": found.title})
            return redirect("studies:overview", slug=slug)
    context = {"study": study, "edited": found, "n_items": found.items.count(), "form": form}
    return render(request, "studies/block_remove.html", context, status=_status(request))


@login_required
@require_POST
def block_move(request: PersonRequest, slug: str, block_slug: str) -> HttpResponse:
    study = managed_study(request.user, slug)
    try:
        move_block(
            block=_block_of(study, block_slug), step=-1 if request.POST.get("to") == "up" else 1, by=request.user
        )
    except DesignError as problem:
        messages.error(request, str(problem))
    return redirect("studies:overview", slug=slug)


def _choose_dataset(request: PersonRequest, study: Study) -> HttpResponse:
    datasets = _offered(request.user, study).with_counts().order_by("name", "pk")
    page = Paginator(datasets, DATASETS_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {"study": study, "page_obj": page, "action": request.path}
    return render(request, "studies/block_dataset.html", context, status=_status(request))


def _block_of(study: Study, slug: str) -> Block:
    blocks = study.blocks.select_related("dataset").prefetch_related("groups", "block_frameworks__framework")
    return get_object_or_404(blocks, slug=slug)


def _offered(user: User, study: Study) -> DatasetQuerySet:
    """The person's own, and those that the study uses already: its owner may be no researcher, and have none."""
    used = study.blocks.order_by().values("dataset")
    return Dataset.objects.filter(Q(pk__in=Dataset.objects.visible_to(user)) | Q(pk__in=used))


def _dataset_asked(request: PersonRequest, block: Block) -> Dataset:
    """The block's own dataset, or another that is offered."""
    asked = request.GET.get("dataset")
    if not asked or asked == block.dataset.slug:
        return block.dataset
    return get_object_or_404(_offered(request.user, block.study), slug=asked)


def _block_form(request: PersonRequest, study: Study, dataset: Dataset, block: Block | None = None) -> BlockForm:
    return BlockForm(
        request.POST or None,
        study=study,
        dataset=dataset,
        frameworks=_frameworks(block),
        traits=traits_of(dataset=dataset),
        block=block,
    )


def _frameworks(block: Block | None) -> list[Framework]:
    """The newest version of each, and the versions that the block has already."""
    newest = Framework.objects.latest_versions()
    used = Framework.objects.none() if block is None else Framework.objects.filter(blocks=block)
    offered = Framework.objects.filter(
        pk__in=[*newest.values_list("pk", flat=True), *used.values_list("pk", flat=True)]
    )
    return list(offered.with_dimension_counts().with_scales())


def _block_page(
    request: PersonRequest, study: Study, dataset: Dataset, form: BlockForm, block: Block | None = None
) -> HttpResponse:
    context = {
        "study": study,
        "dataset": dataset,
        "is_visible": _sees(request.user, dataset),
        "edited": block,
        "form": form,
        **_taken(study, dataset, form),
    }
    status = 422 if request.method == "POST" and "preview" not in request.POST else 200
    return render_page_or_partial(request, "studies/block.html", context, partial="taken", status=status)


def _taken(study: Study, dataset: Dataset, form: BlockForm) -> dict[str, Any]:
    """How many conversations the form as it stands takes."""
    if form.is_bound:
        form.is_valid()
        choice = form.cleaned_data.get("metadata_filter", {})
        size = form.cleaned_data.get("sample_size")
    else:
        choice = {} if form.block is None else form.block.metadata_filter
        size = None if form.block is None else form.block.sample_size
    try:
        selection = select_conversations(dataset=dataset, choice=choice, sample_size=size, seed=study.seed)
    except AllocationError as problem:
        return {"taken_problem": str(problem)}
    return {"selection": selection, "n_taken": len(selection.keys)}


def _change_who_rates(request: PersonRequest, study: Study, block: Block) -> HttpResponse:
    groups = {group.kind: group.overlap for group in block.groups.all()}
    form = GroupsForm(request.POST or None, groups=groups, initial={"title": block.title})
    if request.method == "POST" and form.is_valid():
        try:
            change_who_rates(
                block=block, title=form.cleaned_data["title"], groups=form.cleaned_data["groups"], by=request.user
            )
        except DesignError as problem:
            form.add_error(None, str(problem))
        else:
            messages.success(request, _("Saved."))
            return redirect("studies:overview", slug=study.slug)
    context = {"study": study, "edited": block, "form": form, "n_items": block.items.count()}
    return render(request, "studies/block_groups.html", context, status=_status(request))


def _sees(user: User, dataset: Dataset) -> bool:
    return Dataset.objects.visible_to(user).filter(pk=dataset.pk).exists()


def _status(request: PersonRequest) -> int:
    """A page that is drawn after a POST is drawn because the form was refused."""
    return 422 if request.method == "POST" else 200
