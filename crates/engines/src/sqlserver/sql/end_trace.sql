-- about: no longer; what is on its way is written
-- from: 2012
ALTER EVENT SESSION {name} ON SERVER STATE = STOP
