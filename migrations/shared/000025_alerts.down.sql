DROP TABLE alert_matches;
DROP TABLE alerts;
