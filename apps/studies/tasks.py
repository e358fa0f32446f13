"""What happens to studies by the clock."""

from celery import shared_task

from apps.studies.services.reservations import lapse_expired


@shared_task(name="studies.lapse_reservations")
def lapse_reservations() -> None:
    lapse_expired()
