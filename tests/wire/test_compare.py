"""That the comparison can fail: each test changes one thing that must be found, or one that must not matter."""

import dataclasses
import unittest

import compare
import exchange as exchanges
from rules import Rule

RECORDED = exchanges.Exchange(
    "docs",
    1,
    "GET",
    "/databases/db1/docs?id=users/1",
    status=200,
    answer_headers={"ETag": '"A:1-DBID1xxxxxxxxxxxxxxxxw"'},
    answer='{"Results":[{"Name":"Ann","Age":3,"@metadata":{"@id":"users/1",'
    '"@change-vector":"A:1-DBID1xxxxxxxxxxxxxxxxw","@last-modified":"2026-11-21T00:43:58.4915679Z"}}],'
    '"Includes":{}}',
)
OTHERS = RECORDED.answer.replace("A:1-DBID1xxxxxxxxxxxxxxxxw", "A:7-0QmVLqAQYU2iqZJhLzUpUw").replace(
    "2026-11-21T00:43:58.4915679Z", "2027-01-01T09:00:00.0000001Z"
)
HEADERS = {"etag": '"A:7-0QmVLqAQYU2iqZJhLzUpUw"', "content-type": "application/json; charset=utf-8"}


def places(status=200, headers=None, body=OTHERS):
    found = compare.differences(RECORDED, status, HEADERS if headers is None else headers, body)
    return [difference.place for difference in found]


class Comparison(unittest.TestCase):
    def test_times_etags_and_database_ids_do_not_matter(self):
        self.assertEqual(places(), [])

    def test_another_status_is_found(self):
        self.assertEqual(places(status=201), ["status 200 -> 201"])

    def test_a_mistake_with_400_instead_of_500_is_one_difference_and_its_body_is_compared(self):
        recorded = dataclasses.replace(RECORDED, status=500)
        body = OTHERS.replace('"Ann"', '"ann"')
        found = compare.differences(recorded, 400, HEADERS, body)
        self.assertEqual([one.place for one in found], ["status 500 -> 400", "value $.Results[].Name"])
        found = compare.differences(recorded, 503, HEADERS, body)
        self.assertEqual([one.place for one in found], ["status 500 -> 503"])

    def test_a_missing_header_and_another_form_of_it_are_found(self):
        kind = {"content-type": HEADERS["content-type"]}
        self.assertEqual(places(headers=kind), ["missing header ETag"])
        self.assertEqual(places(headers={**kind, "etag": "17"}), ["header header ETag"])

    def test_a_missing_and_an_extra_member_are_found(self):
        self.assertEqual(places(body=OTHERS.replace(',"Includes":{}', "")), ["missing $.Includes"])
        more = OTHERS.replace('"Includes":{}', '"Includes":{},"More":1')
        self.assertEqual(places(body=more), ["extra $.More"])

    def test_another_value_is_found_at_any_depth(self):
        self.assertEqual(places(body=OTHERS.replace('"Ann"', '"ann"')), ["value $.Results[].Name"])
        self.assertEqual(places(body=OTHERS.replace(":3,", ":4,")), ["value $.Results[].Age"])
        self.assertEqual(places(body=OTHERS.replace(":3,", ':"3",')), ["kind $.Results[].Age"])

    def test_a_time_that_is_not_set_differs_from_one_that_is(self):
        unset = OTHERS.replace("2027-01-01T09:00:00.0000001Z", "0001-01-01T00:00:00.0000000")
        self.assertEqual(places(body=unset), ["value $.Results[].@metadata.@last-modified"])

    def test_another_number_or_order_of_elements_is_found(self):
        recorded, actual = '{"Terms":["a","b"]}', '{"Terms":["b","a"]}'
        found = compare.body_differences(recorded, actual, ())
        self.assertEqual([one.place for one in found], ["value $.Terms[]", "value $.Terms[]"])
        found = compare.body_differences(recorded, '{"Terms":["a"]}', ())
        self.assertEqual([one.place for one in found], ["length $.Terms"])

    def test_a_body_where_none_was_and_text_instead_of_json_are_found(self):
        self.assertEqual([one.kind for one in compare.body_differences("", "{}", ())], ["body"])
        self.assertEqual([one.kind for one in compare.body_differences("{}", "none", ())], ["body"])


class Truncation(unittest.TestCase):
    CUT = '{"Results":[{"Name":"Ann"},{"Name":"Bo\u2026[truncated, 5000 bytes in all]'

    def test_what_stands_before_the_end_of_a_truncated_answer_is_compared(self):
        whole = '{"Results":[{"Name":"Ann"},{"Name":"Bob"}],"Total":2}'
        self.assertEqual(compare.body_differences(self.CUT, whole, ()), [])
        other = whole.replace("Ann", "Zoe")
        found = compare.body_differences(self.CUT, other, ())
        self.assertEqual([one.place for one in found], ["value $.Results[].Name"])
        found = compare.body_differences(self.CUT, '{"Results":[]}', ())
        self.assertEqual([one.place for one in found], ["length $.Results"])


class Rules(unittest.TestCase):
    def test_a_rule_covers_its_place_and_no_other(self):
        rule = Rule({"where": "^docs/001 GET", "at": r"^extra \$\.More$", "reason": "one"})
        self.assertTrue(rule.covers(RECORDED, compare.Difference("extra", "$.More")))
        self.assertFalse(rule.covers(RECORDED, compare.Difference("value", "$.More")))
        self.assertFalse(rule.covers(RECORDED, compare.Difference("status", "200 -> 500")))


if __name__ == "__main__":
    unittest.main()
