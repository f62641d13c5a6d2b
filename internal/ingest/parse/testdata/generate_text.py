"""Makes the notebooks, mailboxes, subtitles and tables in files/ and hostile/. See README.md."""

import csv
import datetime
import io
import json
import mailbox
import os
import tempfile
from email.message import EmailMessage

import nbformat
import srt
import webvtt
from nbformat import v4

HERE = os.path.dirname(os.path.abspath(__file__))


def write(folder, name, data):
    if isinstance(data, str):
        data = data.encode()
    with open(os.path.join(HERE, folder, name), "wb") as f:
        f.write(data)


def make_notebook():
    book = v4.new_notebook(metadata={"language_info": {"name": "python"}, "kernelspec": {"name": "python3", "display_name": "Python 3"}})
    picture = v4.new_output("display_data", data={"image/png": "iVBORw0KGgo=", "text/plain": "<Figure size 640x480 with 1 Axes>"})
    table = v4.new_output("execute_result", data={"text/plain": "   gauge  metres\n0  north    3.10", "text/html": "<table></table>"}, execution_count=2)
    book.cells = [
        v4.new_markdown_cell("# Gauges\n\nEvery gauge is read hourly. ![](data:image/png;base64,iVBORw0KGgo=)", id="a"),
        v4.new_code_cell("import pandas as pd\nlevels = pd.read_csv('gauges.csv')", id="b", execution_count=1),
        v4.new_code_cell("levels.head(1)", id="c", execution_count=2, outputs=[table, picture, v4.new_output("stream", text="\x1b[31mone reading\x1b[0m is missing\n")]),
        v4.new_markdown_cell("## Alarm\n\nAbove 4 metres the harbour is closed.", id="d"),
        v4.new_code_cell("close(harbour)", id="e", execution_count=3, outputs=[v4.new_output("error", ename="NameError", evalue="name 'close' is not defined", traceback=["..."])]),
        v4.new_code_cell("print('tick\\n' * 5000)", id="f", execution_count=4, outputs=[v4.new_output("stream", text="tick\n" * 5000)]),
        v4.new_raw_cell("A raw cell.", id="g"),
    ]
    nbformat.validate(book)
    return nbformat.writes(book)


def make_mailbox():
    def message(number, sender, subject, text, **headers):
        m = EmailMessage()
        m["From"], m["To"], m["Subject"] = sender, "harbour@example.org", subject
        m["Date"], m["Message-ID"] = f"Mon, 0{number} Mar 2026 09:30:00 +0100", f"<{number}@example.org>"
        for key, value in headers.items():
            m[key.replace("_", "-")] = value
        m.set_content(text)
        return m

    attached = message(3, "Jonas <jonas@example.org>", "The list", "Here it is.")
    attached.add_attachment("berth,fee\nNorth 1,30\n", subtype="csv", filename="berths.csv")
    with tempfile.TemporaryDirectory() as folder:
        box = mailbox.mbox(os.path.join(folder, "box"))
        for m in [
            message(1, "Rosa Keel <rosa@example.org>", "Fees of 2026", "Shall we raise the fees?\n\nFrom the north berth we could ask 35.\n"),
            message(2, "Jonas <jonas@example.org>", "Re: Fees of 2026",
                    "I would ask 32.\n\nOn Mon, 1 Mar 2026, Rosa Keel wrote:\n> Shall we raise the fees?\n>\n> From the north berth we could ask 35.\n", In_Reply_To="<1@example.org>"),
            attached,
            message(4, "Ana <ana@example.org>", "Re: Storm", "Quay 4 is closed.\n\n> Which quay is closed?\n", In_Reply_To="<elsewhere@example.org>"),
        ]:
            m = mailbox.mboxMessage(m)
            m.set_from("harbour", datetime.datetime(2026, 3, 5, 10).timetuple())
            box.add(m)
        box.flush()
        with open(os.path.join(folder, "box"), "rb") as f:
            return f.read()


SAID = [
    (0.5, 3, "Welcome to the harbour."), (3, 6.25, "<i>The gate</i> opens\nat high water."), (6.25, 8, "at high water."),
    (15, 18, "Ships of more than forty metres\nneed a tug &amp; a pilot."), (3661, 3663.5, "Goodbye."),
]


def make_srt():
    at = datetime.timedelta
    return srt.compose([srt.Subtitle(i + 1, at(seconds=a), at(seconds=b), text) for i, (a, b, text) in enumerate(SAID)])


def make_vtt():
    captions = webvtt.WebVTT()
    for number, (a, b, text) in enumerate(SAID):
        clock = lambda s: "%02d:%02d:%06.3f" % (s // 3600, s // 60 % 60, s % 60)
        captions.captions.append(webvtt.Caption(clock(a), clock(b), ["<v Rosa>", "<v Jonas>"][number % 2] + text))
    out = io.StringIO()
    captions.write(out)
    return out.getvalue().replace("WEBVTT", "WEBVTT - Harbour\n\nNOTE made by hand\n\nSTYLE\n::cue { color: red }", 1)


def make_table(delimiter, quote, rows):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quotechar=quote, lineterminator="\r\n").writerows(rows)
    return out.getvalue()


ROWS = [["Berth", "Fee", "Since", "Open", "Remark"], ["North 1", "30", "2026-01-02", "true", "near the gate; quiet"],
        ["North 2", "28.5", "2026-02-03", "false", "two\nlines"], ["South, old", "28", "2026-02-03", "true", ""]]


def main():
    write("files", "gauges.ipynb", make_notebook())
    write("files", "harbour.mbox", make_mailbox())
    write("files", "tour.srt", make_srt())
    write("files", "tour.vtt", make_vtt())
    write("files", "semicolons.csv", make_table(";", '"', ROWS))
    write("files", "apostrophes.csv", make_table("|", "'", ROWS))
    write("files", "berths.tsv", make_table("\t", '"', ROWS))
    write("files", "no-names.csv", make_table(",", '"', [["Oslo", "Norway"], ["Bergen", "Norway"], ["Norway", "Norway"]]))
    write("files", "inches.csv", 'Part,Size,Stock\nbolt,"3/4,12\nnut,"1/2,7\nring,"5/8,9\n')
    write("files", "escaped.jsonl", json.dumps({"title": "Köln", "emoji": "🚢", "path": "C:\\u00e9"}) + "\n")
    write("hostile", "broken.ipynb", '{"cells": [{"cell_type": "code", "source": 3}]}')
    write("hostile", "deep.ipynb", '{"nbformat": 4, "cells": [{"outputs": ' + "[" * 20000 + "]" * 20000 + "}]}")
    write("hostile", "no-cells.ipynb", '{"nbformat": 4, "cells": []}')
    write("hostile", "no-times.srt", "1\nWelcome\n\n2\nto the harbour\n")


if __name__ == "__main__":
    main()
