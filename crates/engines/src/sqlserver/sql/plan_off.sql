-- about: statements are carried out again
-- from: 2012
SET SHOWPLAN_XML OFF
