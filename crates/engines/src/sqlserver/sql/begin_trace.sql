-- about: from here on events are written to their file
-- from: 2012
ALTER EVENT SESSION {name} ON SERVER STATE = START
