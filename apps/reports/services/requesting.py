"""A report is asked for: a row and its job, which the caller starts. And it is cancelled, or deleted with its files."""

from django.core.files.storage import default_storage
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import OPEN_STATES, AuditEntry, Job
from apps.common.services.jobs import create_job
from apps.frameworks.models import Framework
from apps.reports.models import StoredReport
from apps.reports.plans import ReportPlan
from apps.studies.models import Study

REPORT_TASK = "reports.build"


class PlanError(ValueError):
    """The plan does not fit the study: `field` names the option, the message says what was expected."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class ReportError(ValueError):
    """The report cannot be deleted now; the message says why."""


def check_plan(*, study: Study, plan: ReportPlan) -> None:
    """Raises PlanError for a block, framework or rater that the study does not have."""
    options = plan.options
    if options.block:
        blocks = list(study.blocks.order_by("position").values_list("slug", flat=True))
        _check("block", options.block, blocks)
    if options.framework:
        used = Framework.objects.filter(blocks__study=study)
        if options.block:
            used = used.filter(blocks__study=study, blocks__slug=options.block)
        _check("framework", options.framework, list(dict.fromkeys(used.values_list("slug", flat=True))))
    if options.raters:
        known = set(study.raters.filter(name__in=options.raters).values_list("name", flat=True))
        for name in options.raters:
            if name not in known:
                raise PlanError("raters", _("No rater of the study is called %(name)s.") % {"name": name})


def request_report(*, study: Study, title: str, plan: ReportPlan, by: User) -> StoredReport:
    """The report as a row with its job. The same asked for again while it waits or is built is that one.

    Raises PlanError.
    """
    check_plan(study=study, plan=plan)
    with transaction.atomic():
        # Of two clicks at once the second finds what the first has made.
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        wanted = plan.as_dict()
        alike = StoredReport.objects.filter(study=study, title=title, created_by=by, job__state__in=OPEN_STATES)
        for report in alike.select_related("job"):
            if report.options == wanted:
                return report
        job = create_job(
            kind="report.build",
            task=REPORT_TASK,
            title=_("Report “%(title)s” of %(study)s") % {"title": title, "study": study.title},
            owner=by,
        )
        report = StoredReport.objects.create(study=study, job=job, title=title, options=wanted, created_by=by)
        job.back_url = reverse("reports:report", args=[study.slug, report.pk])
        job.save(update_fields=["back_url"])
        return report


def may_change(*, user: User, report: StoredReport) -> bool:
    """Whether the person may cancel or delete the report: who asked for it, owners of the study, and admins."""
    return report.created_by_id == user.pk or report.study.is_managed_by(user)


def delete_report(*, report: StoredReport, by: User) -> None:
    """The row and its files go; the snapshot stays. Raises ReportError while the report waits or is built."""
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=report.job_id)
        if job.is_open:
            raise ReportError(_("The report is being built. Cancel that first."))
        files = list(report.files.all())
        names = [str(file.file) for file in files]
        AuditEntry.objects.create(
            actor=by,
            action="report.delete",
            subject=report.study.slug,
            details={
                "report": report.pk,
                "title": report.title,
                "made": report.created_at.isoformat(),
                "files": {file.name: file.sha256 for file in files},
            },
        )
        report.delete()
        # Links to what is no more.
        Job.objects.filter(pk=job.pk).update(result_url="", back_url="")
        transaction.on_commit(lambda: _delete_files(names))


def _delete_files(names: list[str]) -> None:
    for name in names:
        default_storage.delete(name)


def _check(field: str, given: str, known: list[str]) -> None:
    if given not in known:
        text = _("%(given)s is not used here; expected one of %(known)s.")
        raise PlanError(field, text % {"given": given, "known": ", ".join(known)})
