"""Tokens of links stay out of every log: CASES 34."""

import logging

import pytest
from django.test import Client
from gunicorn.config import Config
from gunicorn.glogging import Logger
from hypothesis import given
from hypothesis import strategies as st

from config.logs import HIDDEN, mask_secrets

TOKEN = "kX3v-9_QzZtoken"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"Not Found: /invite/{TOKEN}/", f"Not Found: /invite/{HIDDEN}/"),
        (f'"GET /invite/{TOKEN} HTTP/1.1" 200', f'"GET /invite/{HIDDEN} HTTP/1.1" 200'),
        (f"https://accord.example/join/{TOKEN}/?id=7", f"https://accord.example/join/{HIDDEN}/?id=7"),
        (f"?next=%2Finvite%2F{TOKEN}%2F&x=1", f"?next=%2Finvite%2F{HIDDEN}%2F&x=1"),
        (f"/accounts/password/reset/MQ/{TOKEN}/", f"/accounts/password/reset/MQ/{HIDDEN}/"),
        ("/accounts/password/reset/MQ/set-password/", "/accounts/password/reset/MQ/set-password/"),
        ("/accounts/password/reset/sent/", "/accounts/password/reset/sent/"),
        ("/invite/%6bX3v%2D/", f"/invite/{HIDDEN}/"),
        ("/invite/", "/invite/"),
        ("/studies/grief/people/", "/studies/grief/people/"),
    ],
)
def test_the_token_is_hidden_and_the_rest_stays(text, masked):
    assert mask_secrets(text) == masked


@given(st.from_regex(r"[A-Za-z0-9_-]{20,60}", fullmatch=True), st.sampled_from(["invite", "join"]))
def test_no_token_of_whatever_letters_passes(token, word):
    assert token not in mask_secrets(f"Gone: /{word}/{token}/ and again /{word}/{token}")


@pytest.mark.parametrize("name", ["django.request", "django.security.csrf", "django.server", "a.new.one"])
def test_every_logger_hides_it_in_message_and_arguments(caplog, name):
    with caplog.at_level(logging.INFO, logger=name):
        logging.getLogger(name).warning("%s: %s", "Gone", f"/invite/{TOKEN}/")
    assert TOKEN not in caplog.text
    assert TOKEN not in str([(record.msg, record.args) for record in caplog.records])


def test_a_message_that_does_not_fit_its_arguments_is_left_to_logging():
    record = logging.getLogRecordFactory()("x", logging.INFO, "f", 1, "%d", ("word",), None)
    assert record.args == ("word",)


def test_gunicorns_access_log_hides_it(capsys):
    """Gunicorn has handlers of its own and gives the address as an argument of its line."""
    config = Config()
    config.set("accesslog", "-")
    logger = Logger(config)
    atoms = logger.atoms_wrapper_class({"r": f"GET /invite/{TOKEN}/ HTTP/1.1", "f": f"http://x/invite/{TOKEN}/"})
    logger.access_log.info('"%(r)s" "%(f)s"', atoms)
    said = capsys.readouterr().out
    assert f"GET /invite/{HIDDEN}/ HTTP/1.1" in said
    assert TOKEN not in said


def test_a_form_without_its_csrf_token_is_logged_without_the_link(caplog, db):
    with caplog.at_level(logging.DEBUG):
        assert Client(enforce_csrf_checks=True).post(f"/invite/{TOKEN}/").status_code == 403
        assert Client().get(f"/invite/{TOKEN}/").status_code == 404
    assert f"/invite/{HIDDEN}/" in caplog.text
    assert TOKEN not in caplog.text
