from pdfqa_core.services.overview import Kept


def test_the_last_that_were_asked_for_are_kept():
    kept = Kept(2)
    kept.keep(("ada", "one"), 1)
    kept.keep(("ben", "two"), 2)
    assert kept.get(("ada", "one")) == 1
    kept.keep(("ada", "three"), 3)
    assert [kept.get(key) for key in (("ada", "one"), ("ben", "two"), ("ada", "three"))] == [1, None, 3]


def test_what_is_kept_of_owners_who_went_is_forgotten():
    kept = Kept(5)
    for owner in ("ada", "ben", "cem"):
        kept.keep((owner, "one"), 1)
    kept.forget_owners(["ada", "cem"])
    assert len(kept) == 1
    assert kept.get(("ben", "one")) == 1
