#!/usr/bin/env python3
"""Writes which letters stand before and after the letters with accents of languages, counted in translations (.mo files below folders).

    pip download --no-deps django wagtail djangorestframework django-allauth   # unpack them, and of Debian 12:
    apt-get download gnupg-l10n vlc-l10n gettext apt dpkg coreutils bash git-man util-linux-locales libglib2.0-data libgtk-3-common findutils tar
    letters.py FOLDER... > internal/ingest/parse/latin_letters.txt

A line is a language, a letter, those before it and those after it, from the most frequent to the least; _ is the begin or the end of a word, * before a letter that is a word. Neighbours that less
than one of 500 of the letters have, or only two of them, are left out, and letters that are not among the language's own. A line with a language, = and 150 sequences has those of three letters of ASCII that are the most frequent."""

import collections
import gettext
import os
import re
import sys

OWN = {
    "ca": "àèéíïòóúüç", "cs": "áčďéěíňóřšťúůýž", "da": "æøåé", "de": "äöüß", "en": "éèêëïöñç", "es": "áéíñóúü", "et": "äöõüšž", "fi": "äöåšž", "fr": "àâæçéèêëîïôœùûüÿ",
    "gl": "áéíñóúüï", "hr": "čćđšž", "hu": "áéíóöőúüű", "is": "áðéíóúýþæö", "it": "àèéìòù", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž", "nb": "æøåéòôó", "nl": "ëïéèöüóá",
    "pl": "ąćęłńóśźż", "pt": "áâãàçéêíóôõúü", "ro": "ăâîșț", "sk": "áäčďéíĺľňóôŕšťúýž", "sl": "čšž", "sq": "ëç", "sv": "åäöé", "tr": "çğıöşüâîû", "eu": "ñç", "cy": "âêîôûŵŷáëï",
    "ga": "áéíóú", "eo": "ĉĝĥĵŝŭ",
}
ALIAS = {"pt_BR": "pt", "sr@latin": "hr", "pt_PT": "pt", "nb_NO": "nb", "no": "nb", "hr_HR": "hr", "sk_SK": "sk", "sv_SE": "sv", "es_AR": "es", "es_MX": "es", "sr_Latn": "hr", "bs": "hr", "tr_TR": "tr", "is_IS": "is",
         "lv_LV": "lv", "id_ID": "", "nn": "nb", "et_EE": "et", "de_DE": "de", "it_IT": "it", "nl_NL": "nl", "pl_PL": "pl", "ro_RO": "ro", "sl_SI": "sl", "ca_ES": "ca", "cs_CZ": "cs", "da_DK": "da", "fi_FI": "fi", "fr_FR": "fr", "hu_HU": "hu", "lt_LT": "lt"}


def main():
    before = collections.defaultdict(collections.Counter)
    after = collections.defaultdict(collections.Counter)
    threes = collections.defaultdict(collections.Counter)
    for folder in sys.argv[1:]:
        for at, _, files in os.walk(folder):
            found = re.search(r"/locale/([A-Za-z_@]+)/LC_MESSAGES$", at)
            if not found:
                continue
            language = ALIAS.get(found[1], found[1])
            if language not in OWN:
                continue
            for name in files:
                if not name.endswith(".mo"):
                    continue
                with open(os.path.join(at, name), "rb") as file:
                    try:
                        catalog = gettext.GNUTranslations(file)._catalog
                    except Exception:
                        continue
                for original, text in catalog.items():
                    if not isinstance(text, str) or not original or text == original:
                        continue
                    text = re.sub(r"%\(\w+\)\w|\{\w*\}|<[^>]*>", " ", text).lower()
                    if language == "ro":
                        text = text.translate(str.maketrans("şţ", "șț"))
                    if language == "ca":
                        text = text.replace("l·l", "ll")
                    for word in re.findall(r"[^\W\d_]+", text):
                        word = "_" + word + "_"
                        threes[language].update(word[i:i + 3] for i in range(len(word) - 2) if word[i:i + 3].isascii())
                        for i, letter in enumerate(word):
                            if letter in OWN[language]:
                                if len(word) == 3:
                                    before[language, letter]["*"] += 1
                                    continue
                                before[language, letter][word[i - 1]] += 1
                                after[language, letter][word[i + 1]] += 1
    for language in sorted(threes):
        print(language, "=", *(t for t, _ in threes[language].most_common(150)))
    for language, letter in sorted(before):
        def usual(counts):
            least = max(3, sum(counts.values()) / 500)
            return "".join(c for c, n in counts.most_common() if n >= least)
        pair = usual(before[language, letter]), usual(after[language, letter])
        if pair[0]:
            print(language, letter, pair[0], pair[1] or "*")


if __name__ == "__main__":
    main()
