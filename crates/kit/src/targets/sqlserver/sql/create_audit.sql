-- about: a file to which statements are written some time later; needs --allow-server-changes
-- from: 2016
USE master;
CREATE SERVER AUDIT hopcost TO FILE (FILEPATH = N'{path}', MAXSIZE = 1 GB)
WITH (QUEUE_DELAY = 1000, ON_FAILURE = CONTINUE)
