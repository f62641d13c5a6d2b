DROP TABLE quota_warnings;
