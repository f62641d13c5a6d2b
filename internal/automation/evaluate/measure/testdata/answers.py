"""Scores the cases of answers.jsonl as the evaluation script of SQuAD 2.0 does and writes them again.

The computation, after its definition: an answer is put into lower case; the characters of
string.punctuation are removed; then the words a, an and the, where a word ends at what re.UNICODE
calls a word boundary; what is left is split at white space into tokens. The exact match is whether
the tokens are the same. F1 is 2PR/(P+R) of precision and recall over the multiset of tokens, and
where either has none, whether neither has any. The best reference counts; references without a token
count only if there is no other.

    python3 answers.py < answers.jsonl > new.jsonl
"""

import json
import re
import string
import sys
from collections import Counter

PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLE = re.compile(r"\b(?:a|an|the)\b", re.UNICODE)


def tokens(text):
    return ARTICLE.sub(" ", text.lower().translate(PUNCTUATION)).split()


def f1(given, wanted):
    if not given or not wanted:
        return float(given == wanted)
    same = (Counter(given) & Counter(wanted)).total()
    if same == 0:
        return 0.0
    p, r = same / len(given), same / len(wanted)
    return 2 * p * r / (p + r)


for line in sys.stdin:
    case = json.loads(line)
    given = tokens(case["answer"])
    wanted = [t for t in map(tokens, case["references"]) if t] or [[]]
    case["normalized"] = " ".join(given)
    case["exactMatch"] = float(given in wanted)
    case["f1"] = max(f1(given, w) for w in wanted)
    print(json.dumps(case, ensure_ascii=False))
