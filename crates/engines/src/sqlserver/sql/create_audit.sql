-- about: a file to which statements are written some time later; needs --allow-server-changes
-- from: 2016
USE master;
CREATE SERVER AUDIT {name} TO FILE (FILEPATH = N'{path}') WITH (QUEUE_DELAY = 1000, ON_FAILURE = CONTINUE)
