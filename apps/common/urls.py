from django.urls import path

from apps.common.views import health, jobs

app_name = "common"
urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("jobs/", jobs.job_list, name="jobs"),
    path("jobs/<int:pk>/", jobs.job_detail, name="job"),
    path("jobs/<int:pk>/cancel/", jobs.cancel, name="job-cancel"),
]
