from __future__ import annotations

import pytest

from pdfqa_core.errors import UsageError
from pdfqa_core.metrics.agreement import Judgement, agreement_of_many, look_alikes, read_ratings

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
        (HEADER.encode() + b"t1,,answer,1\n", "Row 2: the column 'annotator' is empty"),
        (HEADER.encode() + b"t1,Anna,answer,\nt1,Ben,answer,NA\n", "No row holds a judgement that counts"),
        (HEADER.encode() + b"t1,Anna,answer\n", "Row 2 has 3 cells; the header has 4"),
        (HEADER.encode() + b"t1,Zo\xeb,answer,1\n", r"not UTF-8 text \(row 2\)"),
        ((HEADER + "t1,Zoë,answer,1\n").encode("utf-16"), "not UTF-8"),
        (HEADER.encode() + b't1,"Anna,answer,1\n', "Row 2 cannot be read"),
    ],
)
def test_bad_files_are_told_with_the_row(data: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_ratings(data)


WIDE = "item,Ada,Ben\n1,yes,yes\n2,no,NA\n3,NaN,no\n4,no,no\n5,yes,no\n6,-,n/a\n7,,<NA>\n8,NULL,no\n"


def test_what_says_that_a_value_is_missing_is_no_label() -> None:
    given, left_out = read_ratings(WIDE.encode())
    (found,) = agreement_of_many(given)
    assert (found.pairs[0].n, found.pairs[0].kappa, found.labels) == (3, pytest.approx(0.4), ("no", "yes"))
    assert left_out == {"NA": 1, "NaN": 1, "-": 1, "n/a": 1, "": 1, "<NA>": 1, "NULL": 1}
    long = HEADER + "1,Ada,c,yes\n1,Ben,c,NA\n2,Ada,c,\n2,Ben,c,no\n"
    assert [one.value for one in read_ratings(long.encode())[0]] == ["yes", "no"]


def test_a_label_that_is_named_counts_though_it_looks_missing() -> None:
    given, left_out = read_ratings(WIDE.encode(), values=("yes", "no", "NA"))
    assert [one.value for one in given if one.item == "2"] == ["no", "NA"]
    assert "NA" not in left_out


def test_numbers_are_one_label_however_they_are_written() -> None:
    given, _ = read_ratings(
        "item,Ada,Ben\n1,1,1.0\n2,2.50,+2.5\n3,-3,\u22123\n4, 4,\uff14\n5,.5,0.5\n6,10,9.5\n".encode()
    )
    values = [one.value for one in given]
    assert values[:10:2] == values[1:10:2]
    (found,) = agreement_of_many(given, scale="ordinal")
    assert found.labels == ("-3", "0.5", "1", "2.5", "4", "9.5", "10")
    assert [one.value for one in read_ratings(b"item,Ada,Ben\n1,1,1.0\n2,2,0\n", values=("1.0",))[0]] == ["1", "1"]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_comma_is_decimal_where_it_does_not_part_the_cells(mark: str) -> None:
    rows = ["item,Ada,Ben".split(","), ["1", "1,5", "1,5"], ["2", "2,0", "2,5"], ["3", "10,0", "9,5"]]
    given, _ = read_ratings("\n".join(mark.join(row) for row in rows).encode())
    assert agreement_of_many(given, scale="ordinal")[0].labels == ("1.5", "2", "2.5", "9.5", "10")
    quoted = b'item,Ada,Ben\n1,"2,5","2,5"\n2,a,b\n'
    assert [one.value for one in read_ratings(quoted)[0][:2]] == ["2,5", "2,5"]


def test_labels_that_differ_in_letter_case_are_told_or_one() -> None:
    table = "item,Ada,Ben\n1,Yes,yes\n2, No,no\u00a0\n3,Yes,no\n4,caf\u00e9,cafe\u0301\n".encode()
    given, _ = read_ratings(table)
    assert look_alikes(given) == (
        "'Yes' and 'yes' differ in letter case only, and count as 2 labels of 'value'.",
        "'No' and 'no' differ in letter case only, and count as 2 labels of 'value'.",
    )
    one_each, _ = read_ratings(table, ignore_case=True)
    assert look_alikes(one_each) == ()
    assert agreement_of_many(one_each)[0].labels == ("No", "Yes", "caf\u00e9")
    assert agreement_of_many(one_each)[0].pairs[0].agreement == 0.75
    names = (HEADER + "1,Ada,c,x\n2,ada,c,x\n1,Ben,C,x\n").encode()
    assert [one.split(", ")[1] for one in look_alikes(read_ratings(names)[0])] == [
        "and count as 2 annotators.", "and count as 2 criteria.",
    ]  # fmt: skip
    assert look_alikes(read_ratings(names, ignore_case=True)[0]) == ()


def test_an_order_of_words_is_not_made_up() -> None:
    given, _ = read_ratings(b"item,Ada,Ben\n1,low,low\n2,low,medium\n3,medium,high\n4,high,high\n")
    with pytest.raises(UsageError, match=r"high, low, medium \(the alphabet's\)") as raised:
        agreement_of_many(given, scale="ordinal")
    assert "--scale high,low,medium" in raised.value.hint
    (found,) = agreement_of_many(given, scale="ordinal", scales={"value": ("low", "medium", "high")})
    assert [one.weights for one in found.pairs[0].weighted] == ["linear", "quadratic"]
