from __future__ import annotations

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Judgement, read_ratings

HEADER = "item,annotator,criterion,value\n"


def test_columns_are_found_by_name_in_any_order() -> None:
    data = 'value,note,item,criterion,annotator\r\n1,"a,\nb",t1#2,passage, Anna \r\n\r\n0,,t1,answer,Ben\r\n'
    expected = (Judgement("t1#2", "Anna", "passage", "1"), Judgement("t1", "Ben", "answer", "0"))
    assert read_ratings(data.encode())[0] == expected
    assert read_ratings(data.encode("utf-8-sig"))[0] == expected


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters(delimiter: str) -> None:
    text = (HEADER + "t1,Zoë,answer,1\n").replace(",", delimiter)
    assert read_ratings(text.encode())[0] == (Judgement("t1", "Zoë", "answer", "1"),)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "The file is empty"),
        (b"\xef\xbb\xbf \n", "The file is empty"),
        (HEADER.encode(), "no rows"),
        (b"item,annotator,by,value\nt1,Anna,a,1\n", "The long format has item, annotator, criterion, value"),
        (b"item,item,annotator,criterion,value\n", "Row 1: the column 'item' is there twice"),
        (HEADER.encode() + b"t1,Anna,answer,1\nt1,Anna,answer,0\n", "Row 3 repeats row 2: item 't1'"),
        (HEADER.encode() + b"t1,Anna,answer,1\n\nt1, Anna,answer,0\n", "Row 4 repeats row 2"),
        (HEADER.encode() + b"t1,Anna,answer,\n", "Row 2: the column 'value' is empty"),
        (HEADER.encode() + b"t1,Anna,answer\n", "Row 2 has 3 cells; the header has 4"),
        (HEADER.encode() + b"t1,Zo\xeb,answer,1\n", r"not UTF-8 text \(row 2\)"),
        ((HEADER + "t1,Zoë,answer,1\n").encode("utf-16"), "not UTF-8"),
        (HEADER.encode() + b't1,"Anna,answer,1\n', "Row 2 cannot be read"),
    ],
)
def test_bad_files_are_told_with_the_row(data: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_ratings(data)
