from pdfqa_core.services.indexes import Kept


def test_the_last_that_were_asked_for_are_kept():
    kept = Kept(2)
    kept.keep(("ada", "one"), 1)
    kept.keep(("ben", "two"), 2)
    assert kept.get(("ada", "one")) == 1
    kept.keep(("ada", "three"), 3)
    assert [kept.get(key) for key in (("ada", "one"), ("ben", "two"), ("ada", "three"))] == [1, None, 3]
