//! Opens, writes and reads a database, so that the library is linked whole enough to be worth
//! looking addresses up in.

use rocksdb::{backup, checkpoint, Options, TransactionDB, TransactionDBOptions, DB};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: bench-program FOLDER")?;
    let mut options = Options::default();
    options.create_if_missing(true);
    options.enable_statistics();
    {
        let db = DB::open(&options, &folder)?;
        db.put(b"key", b"value")?;
        assert_eq!(db.get(b"key")?.as_deref(), Some(&b"value"[..]));
        checkpoint::Checkpoint::new(&db)?.create_checkpoint(format!("{folder}-checkpoint"))?;
        let backups = backup::BackupEngineOptions::new(format!("{folder}-backup"))?;
        backup::BackupEngine::open(&backups, &rocksdb::Env::new()?)?.create_new_backup(&db)?;
    }
    let transactions: TransactionDB = TransactionDB::open(&options, &TransactionDBOptions::default(), &folder)?;
    let transaction = transactions.transaction();
    transaction.put(b"key", b"other")?;
    transaction.commit()?;
    Ok(())
}
