from tests.reliability.conftest import rate

__all__ = ["rate"]
