import pytest
from django.test import Client

from apps.frameworks.framework_file import parse_framework
from apps.frameworks.models import Framework
from apps.frameworks.services.loading import load_framework
from tests.frameworks.specs import SMALL


@pytest.fixture
def calm(db: None) -> Framework:
    return load_framework(spec=parse_framework(SMALL)).framework


@pytest.fixture
def client(sign_in, emil) -> Client:
    """An annotator: the least of those who are signed in."""
    return sign_in(emil)
