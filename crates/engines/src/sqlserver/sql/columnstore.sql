-- about: what a load goes into; batches of 102,400 rows and more are compressed at once
-- from: 2014
CREATE CLUSTERED COLUMNSTORE INDEX by_column ON {table}
