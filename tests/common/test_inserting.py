import pytest

from apps.common.inserting import insert_rows
from apps.corpus.models import Turn

COLUMNS = ("conversation_id", "index", "role", "speaker", "text")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_every_row_is_stored_as_given(letters, count):
    letter = letters.conversations.first()
    rows = [(letter.pk, 10 + number, "other", "Ö", 'a "quoted" % text') for number in range(count)]
    insert_rows(Turn, COLUMNS, iter(rows))
    stored = Turn.objects.filter(index__gte=10).order_by("index").values_list(*COLUMNS)
    assert list(stored) == rows
