"""Makes the messages of Outlook in files/ and hostile/. See README.md."""

import datetime
import os
import struct

from aspose.email_foss.msg import MapiMessage, PropertyId, RECIPIENT_TYPE_CC

HERE = os.path.dirname(os.path.abspath(__file__))
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(16)


def at(day):
    return datetime.datetime(2026, 3, day, 9, 30, tzinfo=datetime.timezone.utc)


def message(subject, body, day, sender=("Rosa Keel", "rosa@example.org"), unicode_strings=True):
    m = MapiMessage.create(subject, body, unicode_strings=unicode_strings)
    m.set_property(PropertyId.SENDER_NAME, sender[0])
    m.set_property(PropertyId.SENDER_EMAIL_ADDRESS, sender[1])
    m.set_property(PropertyId.MESSAGE_DELIVERY_TIME, at(day))
    m.set_property(PropertyId.INTERNET_MESSAGE_ID, f"<{day}@example.org>")
    return m


def save(folder, name, m):
    with open(os.path.join(HERE, folder, name), "wb") as f:
        f.write(m.to_bytes())


def with_attachments():
    m = message("Fees of 2027", "Dear Jonas,\n\nthe list is attached, and what the council wrote.\n\nRosa\n", 4)
    m.add_recipient("jonas@example.org", display_name="Jonas Brück")
    m.add_recipient("/O=HARBOUR/CN=PILOTS", display_name="Pilots")
    m.add_recipient("council@example.org", display_name="council@example.org", recipient_type=RECIPIENT_TYPE_CC)
    m.set_property(PropertyId.TRANSPORT_MESSAGE_HEADERS,
                   "Date: Wed, 4 Mar 2026 10:30:00 +0100\r\nIn-Reply-To: <3@example.org>\r\nReferences: <2@example.org> <3@example.org>\r\n")
    m.add_attachment("berths.csv", b"berth,fee\nNorth 1,30\nSouth 2,25\n", mime_type="text/csv")
    m.add_attachment("logo.png", PICTURE, mime_type="image/png").set_property(0x7FFE, 0x000B, True)
    council = message("Decision of the council", "The fees of the north mole rise by two.", 2, ("Council", "council@example.org"))
    council.add_attachment("minutes.txt", "Beschluss über die Gebühren".encode("utf-16"), mime_type="text/plain")
    m.add_embedded_message_attachment(council, filename="Decision of the council")
    return m


def page():
    m = message("Tides", "", 5)
    m.set_property(PropertyId.BODY_HTML, "<html><body><p>Высота <b>воды</b>:</p><table><tr><th>Gauge</th><th>Metres</th></tr><tr><td>North</td><td>3.1</td></tr></table></body></html>".encode("cp1251"))
    m.set_property(PropertyId.INTERNET_CODEPAGE, 1251)
    return m


def formatted():
    def old(text):  # the writer knows windows-1252 alone
        return text.encode("cp1251").decode("cp1252")

    m = message(old("Нормы"), "", 6, (old("Отдел"), "norms@example.org"), unicode_strings=False)
    m.set_property(0x3FFD, 0x0003, 1251)
    rtf = rb"{\rtf1\ansi\ansicpg1251 {\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 \'cf\'f0\'e8\'eb\'e8\'e2 \b at nine\b0.\htmlrtf\par}\htmlrtf0}"
    m.set_property(0x1009, 0x0102, struct.pack("<IIII", len(rtf) + 12, len(rtf), 0x414C454D, 0) + rtf)
    return m


def encrypted():
    m = message("Keys", "", 7)
    m.set_property(PropertyId.MESSAGE_CLASS, "IPM.Note.SMIME")
    m.add_attachment("smime.p7m", b"0\x80\x06\x09", mime_type="application/pkcs7-mime;smime-type=enveloped-data")
    return m


def signed():
    m = message("Notice", "", 8)
    m.set_property(PropertyId.MESSAGE_CLASS, "IPM.Note.SMIME.MultipartSigned")
    entity = (b"Content-Type: multipart/signed; protocol=\"application/pkcs7-signature\"; boundary=\"=_=\"\r\n\r\n"
              b"--=_=\r\nContent-Type: text/plain\r\n\r\nThe bridge opens at nine.\r\n"
              b"--=_=\r\nContent-Type: application/pkcs7-signature\r\nContent-Disposition: inline\r\n\r\n0\r\n--=_=--\r\n")
    m.add_attachment("smime.p7m", entity, mime_type="multipart/signed")
    return m


save("files", "notice.msg", signed())
save("files", "fees.msg", with_attachments())
save("files", "tides.msg", page())
save("files", "norms.msg", formatted())
save("hostile", "encrypted.msg", encrypted())
with open(os.path.join(HERE, "files", "fees.msg"), "rb") as f:
    content = f.read()
with open(os.path.join(HERE, "hostile", "truncated.msg"), "wb") as f:
    f.write(content[: len(content) // 2])
