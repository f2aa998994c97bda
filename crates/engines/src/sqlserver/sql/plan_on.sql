-- about: statements are planned, and not carried out
-- from: 2012
SET SHOWPLAN_XML ON
