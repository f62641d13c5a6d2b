DROP FUNCTION instant(text);
